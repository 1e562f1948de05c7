import { applyCommitted } from "./apply/commit.ts";
import { applyFirstToken, applyLeft, applyProgress, applyReady, applyRoundDone } from "./apply/request.ts";
import {
  applyBudget,
  applyEngineLost,
  applyEvicted,
  applyHostDropped,
  applyLoaded,
  applyLoadFailed,
  applyPreempted,
  applyRefused,
} from "./apply/residency.ts";
import { applyGraph, applyHints, applyStageDone, applyStageSkipped, applyTaskArrived, applyTaskOver } from "./apply/task.ts";
import type { CoreEvent } from "./events.ts";
import { recordHistory } from "./history.ts";
import { kvIndexSaw } from "./kv-index/hooks.ts";
import { count, type State } from "./state.ts";

/**
 * Applies one event: the only writer of the state. Never throws; what contradicts the books is counted in `state.counters`.
 * Time never runs backwards: an event older than the last one happens now (K75).
 */
export function step(state: State, event: CoreEvent): void {
  if (event.at > state.nowSeconds) state.nowSeconds = event.at;
  else if (event.at < state.nowSeconds) count(state, "clockBackwards");
  recordHistory(state, event);
  applyEvent(state, event);
  kvIndexSaw(state, event);
}

function applyEvent(state: State, event: CoreEvent): void {
  switch (event.kind) {
    case "taskArrived":
      return applyTaskArrived(state, event.task);
    case "graphRevealed":
      return applyGraph(state, event.task, event.graph);
    case "receiptUpdated":
      return applyHints(state, event.task, event.stage, event.hints);
    case "ready":
      return applyReady(state, event.request);
    case "committed":
      return applyCommitted(state, event.decision);
    case "loaded":
      return applyLoaded(state, event.entry, event.computedTokens);
    case "loadFailed":
      return applyLoadFailed(state, event.entry);
    case "evicted":
      return applyEvicted(state, event.entry, event.keptOnHost);
    case "hostDropped":
      return applyHostDropped(state, event.entry);
    case "firstToken":
      return applyFirstToken(state, event.request);
    case "progress":
      for (const delta of event.deltas) applyProgress(state, delta);
      return;
    case "roundDone":
      return applyRoundDone(state, event.request, event.retainedTokens);
    case "stageDone":
      return applyStageDone(state, event.task, event.stage);
    case "stageSkipped":
      return applyStageSkipped(state, event.task, event.stage);
    case "taskDone":
      return applyTaskOver(state, event.task, "done");
    case "taskCancelled":
      return applyTaskOver(state, event.task, "cancelled");
    case "cancelled":
      return applyLeft(state, event.request, "cancelled");
    case "failed":
      return applyLeft(state, event.request, "failed");
    case "preempted":
      return applyPreempted(state, event.request, event.by, event.keptTokens);
    case "refused":
      return applyRefused(state, event.request);
    case "budgetChanged":
      return applyBudget(state, event.budgetTokens);
    case "engineLost":
      return applyEngineLost(state);
    case "timer":
      return;
    default: {
      const unreachable: never = event;
      return unreachable;
    }
  }
}

/** Events after which the loop asks for a decision, once per instant. Progress and our own confirmations never do (algorithm 1.3). */
export function isDeciding(event: CoreEvent): boolean {
  switch (event.kind) {
    case "ready":
    case "roundDone":
    case "stageDone":
    case "stageSkipped":
    case "taskDone":
    case "taskCancelled":
    case "cancelled":
    case "failed":
    case "refused":
    case "loaded":
    case "loadFailed":
    case "evicted":
    case "hostDropped":
    case "budgetChanged":
    case "engineLost":
    case "timer":
    case "graphRevealed":
    case "receiptUpdated":
      return true;
    case "preempted":
      return event.by === "engine";
    case "taskArrived":
    case "committed":
    case "firstToken":
    case "progress":
      return false;
    default: {
      const unreachable: never = event;
      return unreachable;
    }
  }
}
