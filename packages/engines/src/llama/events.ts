/** Child messages as the engine events the scheduler sees. */
import type { EngineEvent } from "../engine.ts";
import type { CallHandle, FromChild } from "./protocol.ts";

type Observed = Extract<FromChild, { ev: "step" | "loaded" | "evicted" | "hostDropped" | "taken" | "preempted" }>;

/** null: it concerns a call that is not live any more. */
export function eventOf(m: Observed, idOf: (handle: CallHandle) => string | undefined): EngineEvent | null {
  switch (m.ev) {
    case "step": {
      const deltas = new Map<string, { request: string; prefilled: number; decoded: number }>();
      const at = (handle: CallHandle): { prefilled: number; decoded: number } | undefined => {
        const request = idOf(handle);
        if (request === undefined) return undefined;
        let delta = deltas.get(request);
        if (delta === undefined) deltas.set(request, (delta = { request, prefilled: 0, decoded: 0 }));
        return delta;
      };
      for (const handle of m.calls) {
        const delta = at(handle);
        if (delta !== undefined) delta.decoded++;
      }
      for (let i = 0; i + 1 < m.prefilled.length; i += 2) {
        const delta = at(m.prefilled[i] ?? 0);
        if (delta !== undefined) delta.prefilled += m.prefilled[i + 1] ?? 0;
      }
      return { kind: "step", ms: m.ms, freeTokens: m.freeTokens, deltas: [...deltas.values()] };
    }
    case "loaded": {
      const { entry, tokens, computedTokens, bytes, ms } = m;
      return { kind: "loaded", entry, tokens, computedTokens, bytes, ms };
    }
    case "evicted": {
      const { entry, tokens, keptOnHost, bytes, ms } = m;
      return { kind: "evicted", entry, tokens, keptOnHost, bytes, ms };
    }
    case "hostDropped":
    case "taken":
      return { kind: m.ev, entry: m.entry };
    case "preempted": {
      const request = idOf(m.call);
      return request === undefined ? null : { kind: "preempted", request, by: m.by, keptTokens: m.keptTokens, bytes: m.bytes };
    }
  }
}
