/** Keeps an engine process alive: opens it, answers questions, notices death and hangs, restarts it with back-off. */
import { EngineError } from "../engine.ts";
import type { ChildLink } from "./child-link.ts";
import { forkChild } from "./child-link.ts";
import type { ResolvedOptions } from "./options.ts";
import { openOptions } from "./options.ts";
import type { Envelope, FromChild, ReadyMessage, ToChild } from "./protocol.ts";
import { Watchdog } from "./watchdog.ts";

export type Reply = Extract<FromChild, { ev: "ack" | "tokenized" | "inspected" }>;
export type Report = Extract<FromChild, { ev: "step" | "end" | "loaded" | "evicted" | "hostDropped" | "taken" | "preempted" }>;

const LONGEST_DELAY_MS = 10_000;
const CLOSE_PATIENCE_MS = 5_000;

export interface SupervisorSeams {
  /** A process has opened the model, the first one or a restarted one. */
  opened(ready: ReadyMessage, restarted: boolean): void;
  received(report: Report): void;
  /** The process that was up is gone. Called once for each, before any restart. */
  lost(message: string): void;
}

export class Supervisor {
  readonly #options: ResolvedOptions;
  readonly #seams: SupervisorSeams;
  readonly #pending = new Map<number, (reply: Reply | null) => void>();
  #seq = 1;
  #link: ChildLink | null = null;
  #up = false;
  #closing = false;
  #gone: (() => void) | null = null;
  #watchdog: Watchdog | null = null;
  #restartTimer: NodeJS.Timeout | null = null;
  #failedStarts = 0;
  /** What the child or the watchdog said before the end. */
  #lastWords: string | null = null;

  constructor(options: ResolvedOptions, seams: SupervisorSeams) {
    this.#options = options;
    this.#seams = seams;
  }

  get up(): boolean {
    return this.#up;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** Rejects with what the child refused; a death before it was ready is `engine_open_failed`. No restart follows a rejection. */
  start(): Promise<void> {
    return this.#open(false);
  }

  send(message: ToChild): void {
    this.#link?.send(message);
  }

  /** null: the process went down before it answered. */
  ask(make: (seq: number) => ToChild): Promise<Reply | null> {
    if (!this.#up) return Promise.resolve(null);
    const seq = this.#seq++;
    return new Promise((resolve) => {
      this.#pending.set(seq, resolve);
      this.send(make(seq));
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const link = this.#link;
    if (link === null) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => link.kill("SIGKILL"), CLOSE_PATIENCE_MS);
      this.#gone = () => {
        clearTimeout(timer);
        resolve();
      };
      link.send({ op: "close" });
    });
  }

  #open(restarted: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lastWords = null;
      const link = forkChild(
        (envelope) => {
          const [first] = envelope;
          if (first?.ev === "ready") {
            this.#opened(first, restarted);
            resolve();
          } else if (first?.ev === "openFailed") {
            reject(new EngineError(first.code, first.message));
            link.kill("SIGKILL");
          } else this.#receive(envelope);
        },
        (why) => {
          reject(new EngineError("engine_open_failed", why));
          this.#exited(why);
        },
      );
      this.#link = link;
      link.send({ op: "open", options: openOptions(this.#options) });
    });
  }

  #opened(ready: ReadyMessage, restarted: boolean): void {
    this.#up = true;
    this.#failedStarts = 0;
    this.#watchdog = new Watchdog(this.#options.hangMs, this.#options.stepHangMs, {
      ping: () => this.send({ op: "ping", seq: 0 }),
      hung: (why) => {
        this.#lastWords = why;
        this.#link?.kill("SIGKILL");
      },
    });
    this.#seams.opened(ready, restarted);
  }

  #receive(envelope: Envelope): void {
    this.#watchdog?.alive();
    for (const m of envelope) {
      switch (m.ev) {
        case "ack":
        case "tokenized":
        case "inspected": {
          const resolve = this.#pending.get(m.seq);
          this.#pending.delete(m.seq);
          resolve?.(m);
          break;
        }
        case "pong":
          this.#watchdog?.pong(m.stepMs);
          break;
        case "fatal":
          this.#lastWords = m.message;
          break;
        case "ready":
        case "openFailed":
          break;
        case "step":
        case "end":
        case "loaded":
        case "evicted":
        case "hostDropped":
        case "taken":
        case "preempted":
          this.#seams.received(m);
          break;
      }
    }
  }

  #exited(why: string): void {
    const wasUp = this.#up;
    this.#up = false;
    this.#link = null;
    this.#watchdog?.stop();
    this.#watchdog = null;
    if (wasUp) this.#seams.lost(this.#lastWords === null ? why : `${this.#lastWords} (${why})`);
    for (const resolve of this.#pending.values()) resolve(null);
    this.#pending.clear();
    this.#gone?.();
    if (wasUp) this.#restartLater();
  }

  #restartLater(): void {
    if (this.#closing || this.#failedStarts > this.#options.maxRestarts) return;
    const delay = Math.min(LONGEST_DELAY_MS, this.#options.restartDelayMs * 2 ** this.#failedStarts++);
    this.#restartTimer = setTimeout(() => {
      this.#open(true).catch(() => this.#restartLater());
    }, delay);
  }
}
