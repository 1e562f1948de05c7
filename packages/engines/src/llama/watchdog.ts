/** Finds a hung child: one that answers no ping, or whose step never ends. */
export interface WatchdogSeams {
  /** Sends a ping; the child answers with {@link Watchdog.pong}. */
  ping(): void;
  hung(why: string): void;
}

export class Watchdog {
  readonly #timer: NodeJS.Timeout;
  readonly #stepHangMs: number;
  readonly #seams: WatchdogSeams;
  #unanswered = 0;

  /** Counts pings, not time, so that a parent that slept itself accuses nobody. */
  constructor(hangMs: number, stepHangMs: number, seams: WatchdogSeams) {
    this.#stepHangMs = stepHangMs;
    this.#seams = seams;
    this.#timer = setInterval(() => this.#tick(), Math.max(1, hangMs / 3)).unref();
  }

  /** Any message is a sign of life. */
  alive(): void {
    this.#unanswered = 0;
  }

  pong(stepMs: number): void {
    if (stepMs > this.#stepHangMs) this.#seams.hung(`one step has run for ${Math.round(stepMs)} ms`);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (this.#unanswered >= 3) return this.#seams.hung("no sign of life");
    this.#unanswered++;
    this.#seams.ping();
  }
}
