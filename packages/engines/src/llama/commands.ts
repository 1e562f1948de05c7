/** Residency and preemption commands, applied between two steps, each answered once. */
import type { EntryId } from "@topas/core";
import type { LoopCommand, StepLoop } from "./loop.ts";
import type { Inspection, Outcome } from "./protocol.ts";

/** A `load` on its way. */
export interface Loading {
  readonly seq: number;
  readonly entry: EntryId;
  readonly tokens: Int32Array | null;
  readonly startedMs: number;
  /** The prefix it is filling or waiting for; null before it began. */
  waitsFor: EntryId | null;
  bytes: number;
}

export function applyCommand(loop: StepLoop, c: LoopCommand): void {
  const ack = (seq: number, outcome: Outcome, tokens = 0, bytes = 0, ms = 0): void =>
    loop.emit({ ev: "ack", seq, outcome, tokens, bytes, ms });
  switch (c.op) {
    case "submit":
      return loop.calls.submit(c);
    case "cancel": {
      const r = loop.calls.live.get(c.call);
      if (r !== undefined) loop.calls.finish(r, "cancelled");
      return;
    }
    case "preempt": {
      const r = loop.calls.live.get(c.call);
      if (r === undefined || r.phase === "preempted") return ack(c.seq, "unknownId");
      const started = performance.now();
      const { freed, bytes } = loop.calls.preempt(r, c.keep, "us");
      return ack(c.seq, "enforced", freed, bytes, performance.now() - started);
    }
    case "resume": {
      const r = loop.calls.live.get(c.call);
      if (r === undefined || r.phase !== "preempted") return ack(c.seq, "unknownId");
      r.phase = "waiting";
      return ack(c.seq, "enforced", r.known - r.shared, r.saved?.length ?? 0);
    }
    case "load":
      loop.loads.push({ seq: c.seq, entry: c.entry, tokens: c.tokens, startedMs: performance.now(), waitsFor: null, bytes: 0 });
      return;
    case "evict": {
      // A load that has begun is somebody's wait.
      if (loop.residency.get(c.entry)?.state === "loading") return ack(c.seq, "unsupported");
      const done = loop.residency.evict(c.entry, c.keepHost);
      return done === null ? ack(c.seq, "unknownId") : ack(c.seq, "enforced", done.freed, done.bytes, done.ms);
    }
    case "dropHost":
      return ack(c.seq, loop.residency.dropHost(c.entry) ? "enforced" : "unknownId");
    case "rank":
      loop.residency.rank(c.order);
      return ack(c.seq, "enforced");
    case "inspect":
      return loop.emit({ ev: "inspected", seq: c.seq, state: inspect(loop) });
  }
}

/** Moves every pending `load` on as far as it goes now. */
export function stepLoads(loop: StepLoop): void {
  for (let i = loop.loads.length - 1; i >= 0; i--) {
    const load = loop.loads[i];
    if (load === undefined) continue;
    const outcome = stepLoad(loop, load);
    if (outcome === null) continue;
    loop.loads.splice(i, 1);
    const entry = loop.residency.get(load.entry);
    const tokens = outcome !== "enforced" || entry === undefined ? 0 : cellsOf(loop, load.entry, entry.seq);
    loop.emit({ ev: "ack", seq: load.seq, outcome, tokens, bytes: load.bytes, ms: performance.now() - load.startedMs });
  }
}

function stepLoad(loop: StepLoop, load: Loading): Outcome | null {
  const { residency, host } = loop;
  const entry = residency.get(load.entry);
  if (entry !== undefined) {
    load.waitsFor = load.entry;
    return entry.state === "resident" ? "enforced" : null;
  }
  const saved = host.get(load.entry);
  if (load.entry.startsWith("prefix:")) {
    const tokens = load.tokens ?? saved?.tokens;
    if (load.waitsFor !== null) return "noRoom";
    if (tokens === undefined) return "unknownId";
    const started = residency.startLoad(load.entry, tokens, loop.calls.nextOrder(), null);
    if (started === null) return "noRoom";
    load.waitsFor = load.entry;
    if (started.state === "loading") return null;
    load.bytes = saved?.state.length ?? 0;
    return "enforced";
  }
  if (saved === undefined) return "unknownId";
  const below = saved.prefix;
  if (below !== null) {
    const prefix = residency.get(below.entry);
    if (prefix === undefined) {
      if (load.waitsFor !== null) return "noRoom";
      const started = residency.startLoad(below.entry, below.tokens, loop.calls.nextOrder(), null);
      if (started === null) return "noRoom";
    }
    load.waitsFor = below.entry;
    if (residency.get(below.entry)?.state !== "resident") return null;
  }
  const seq = residency.restoreSession(load.entry, saved);
  if (seq === null) return "noRoom";
  residency.keepSession(load.entry, seq, saved.tokens, saved.prefix);
  load.bytes = saved.state.length;
  return "enforced";
}

function cellsOf(loop: StepLoop, id: EntryId, seq: number): number {
  return id.startsWith("session:") ? loop.kv.ledger.own(seq) : loop.kv.ledger.length(seq);
}

function inspect(loop: StepLoop): Inspection {
  const totals = loop.kv.ledger.totals();
  return {
    cells: loop.kv.ledger.cells,
    free: totals.free,
    prefixCells: totals.prefix,
    sessionCells: totals.session,
    privateCells: totals.private,
    sequences: loop.kv.ledger.sequences,
    live: loop.calls.live.size,
    steps: loop.steps,
    defects: loop.planner.defects,
    overflows: loop.planner.overflows,
    hostBytes: loop.host.bytes,
    entries: [...loop.residency.all()].map((e) => ({ entry: e.id, tokens: cellsOf(loop, e.id, e.seq), state: e.state })),
    hostEntries: loop.host.ids(),
    problem: loop.kv.check(),
  };
}
