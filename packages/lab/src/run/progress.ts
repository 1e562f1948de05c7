/** What a cell is called. */
export interface NamedCell {
  readonly workload: string;
  readonly arm: { readonly name: string };
  readonly seed: number;
}

/** Says on a terminal how far a run is and how long it still takes; seconds per arm as seen so far. */
export class Progress {
  private readonly seen = new Map<string, { seconds: number; count: number }>();
  private readonly left = new Map<string, number>();
  private readonly total: number;
  private readonly workers: number;
  private readonly write: (text: string) => void;
  private done = 0;

  constructor(cells: readonly NamedCell[], workers: number, write: (text: string) => void) {
    this.total = cells.length;
    this.workers = Math.max(1, workers);
    this.write = write;
    for (const cell of cells) this.left.set(cell.arm.name, (this.left.get(cell.arm.name) ?? 0) + 1);
  }

  add(cell: NamedCell, seconds: number): void {
    const { name } = cell.arm;
    const seen = this.seen.get(name) ?? { seconds: 0, count: 0 };
    this.seen.set(name, { seconds: seen.seconds + seconds, count: seen.count + 1 });
    this.left.set(name, this.left.get(name)! - 1);
    this.done += 1;
    this.write(`\r${this.line(cell)}`.padEnd(110));
    if (this.done === this.total) this.write("\n");
  }

  /** Null until a first cell ended. */
  leftSeconds(): number | null {
    if (this.done === 0) return null;
    let [seconds, count] = [0, 0];
    for (const each of this.seen.values()) {
      seconds += each.seconds;
      count += each.count;
    }
    let left = 0;
    for (const [name, cells] of this.left) {
      const seen = this.seen.get(name);
      left += cells * (seen === undefined ? seconds / count : seen.seconds / seen.count);
    }
    return left / this.workers;
  }

  private line({ workload, arm, seed }: NamedCell): string {
    const filled = Math.round((20 * this.done) / this.total);
    const bar = "#".repeat(filled).padEnd(20, ".");
    const left = Math.ceil(this.leftSeconds() ?? 0);
    const time = left < 90 ? `${left} s` : `${Math.ceil(left / 60)} min`;
    return `[${bar}] ${this.done}/${this.total} cells, ${time} left  ${workload} ${arm.name} seed ${seed}`;
  }
}
