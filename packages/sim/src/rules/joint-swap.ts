import type { Call } from "../engine/call.ts";
import type { JointEngine } from "./joint.ts";
import { contextAtJoin } from "./joint-types.ts";

/** Begins the copies back of swapped calls; they run on when they are in. */
export function swapIn(engine: JointEngine, calls: readonly Call[], atSeconds: number): void {
  for (const call of calls) {
    call.inFlight = call.filled;
    const epoch = ++call.epoch;
    engine.copies.callIn(call, atSeconds, (at) => engine.command(at, () => swappedIn(engine, call, epoch)));
  }
}

/** Out of the running set; its cells are free once they are copied. */
export function swapOut(engine: JointEngine, call: Call, atSeconds: number): void {
  const { machine, copies } = engine;
  if (call.phase === "decode") machine.decode.leave(call, contextAtJoin(call));
  engine.running.splice(engine.running.indexOf(call), 1);
  engine.unpin(call);
  const isCopied = call.phase === "swapIn";
  call.phase = "swapIn";
  call.inFlight = 0;
  call.epoch += 1;
  machine.preempted(call);
  const cells = machine.roundUp(call.filled);
  copies.callOut(call, isCopied, atSeconds, (at) =>
    engine.command(at, (done) => {
      copies.callGone(cells);
      engine.listener.released(call, call.filled, done);
    }),
  );
}

/** Swapped out again before its copy in began: its KV is still on the host. */
export function stepBack(engine: JointEngine, call: Call, atSeconds: number): void {
  engine.running.splice(engine.running.indexOf(call), 1);
  engine.unpin(call);
  engine.machine.preempted(call);
  engine.listener.released(call, call.filled, atSeconds);
}

function swappedIn({ machine, copies }: JointEngine, call: Call, epoch: number): void {
  if (call.epoch !== epoch) return;
  copies.callTokens -= machine.roundUp(call.filled);
  call.inFlight = 0;
  call.phase = "prefill";
  if (call.filled >= call.target) machine.decode.join(call, call.filled, call.sharedTokens + call.filled + 1);
}
