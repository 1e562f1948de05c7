import { Heap } from "./heap.ts";

/**
 * What can be due, in the order in which one instant applies it. Steps end before anything new arrives, copies before
 * tool results, the scheduler's own timers last.
 */
export const DUE_ORDER = { stepEnd: 0, copied: 1, arrival: 2, toolReturn: 3, timer: 4 } as const;
export type DueKind = keyof typeof DUE_ORDER;

export interface Due {
  readonly atSeconds: number;
  readonly kind: DueKind;
  readonly id: string;
  readonly run: (atSeconds: number) => void;
}

/** Virtual time: an agenda with a total order (time, kind, id), so equal inputs replay byte for byte. */
export interface Clock {
  /** Moved on by `advance`, or by the owner of the clock for what is not on the agenda. */
  nowSeconds: number;
  at(atSeconds: number, kind: DueKind, id: string, run: (atSeconds: number) => void): void;
  nextSeconds(): number | null;
  /** Runs everything due at the next instant, including what that adds to the same instant; false when nothing is left. */
  advance(): boolean;
}

export function createClock(): Clock {
  const agenda = new Heap<Due>(compareDue);
  const clock = {
    nowSeconds: 0,
    at(atSeconds: number, kind: DueKind, id: string, run: (atSeconds: number) => void): void {
      agenda.push({ atSeconds: Math.max(atSeconds, clock.nowSeconds), kind, id, run });
    },
    nextSeconds(): number | null {
      return agenda.peek()?.atSeconds ?? null;
    },
    advance(): boolean {
      const first = agenda.peek();
      if (first === undefined) return false;
      clock.nowSeconds = first.atSeconds;
      for (let due = agenda.peek(); due !== undefined && due.atSeconds <= clock.nowSeconds; due = agenda.peek()) {
        agenda.pop();
        due.run(clock.nowSeconds);
      }
      return true;
    },
  };
  return clock;
}

export function compareDue(a: Due, b: Due): number {
  return a.atSeconds - b.atSeconds || DUE_ORDER[a.kind] - DUE_ORDER[b.kind] || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
