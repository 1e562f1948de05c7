import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkInvariants, decide, ledgerSnapshot, type Policy } from "@topas/core";
import { LlamaEngine, ensureModel } from "@topas/engines/llama";
import { startGateway } from "@topas/gateway";
import { beforeAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "topas-rollback-"));
let modelPath: string;
beforeAll(async () => {
  modelPath = await ensureModel("nano1m", folder);
});

const words = (n: number, seed: number): string =>
  Array.from({ length: n }, (_, i) => ` w${String((seed * 7919 + i * 104729) % 500).padStart(3, "0")}`).join("");

/** One workflow: a lead, two specialists at once, the lead again. Returns `[asked, got]` output tokens of its calls. */
async function workflow(url: string, task: number): Promise<[number, number][]> {
  const call = async (agent: number, stage: string, tokens: number): Promise<[number, number]> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-topas-task": `job-${task}`,
        "x-topas-stage": stage,
        "x-topas-agent": `agent-${agent}`,
      },
      body: JSON.stringify({
        max_tokens: tokens,
        ignore_eos: true,
        messages: [
          { role: "system", content: words(60 + 30 * agent, agent) },
          { role: "user", content: words(10 + ((task * 13) % 30), 100 + task) },
        ],
      }),
    });
    const body = (await response.json()) as { usage?: { completion_tokens: number } };
    return [tokens, response.status === 200 ? (body.usage?.completion_tokens ?? -1) : -response.status];
  };
  const size = 24 + ((task * 37) % 90);
  const plan = await call(0, "plan", size);
  const both = await Promise.all([call(1 + (task % 3), "left", 2 * size), call(4, "right", 16)]);
  return [plan, ...both, await call(0, "report", size)];
}

interface Drill {
  readonly admin: (path: string, body?: object) => Promise<Response>;
  readonly configFile: string;
  /** From now on the joint policy throws. */
  readonly breakPolicy: () => void;
}

const JSON_POST = { method: "POST", headers: { "content-type": "application/json" } };

const WAYS: Record<string, { off: (drill: Drill) => Promise<unknown>; on: (drill: Drill) => Promise<unknown> }> = {
  "admin call": {
    off: ({ admin }) => admin("/admin/policy", { policy: "passthrough" }),
    on: ({ admin }) => admin("/admin/policy", { policy: "topas" }),
  },
  "config reload": {
    off: ({ admin, configFile }) => (writeFileSync(configFile, "policy: passthrough\n"), admin("/admin/reload")),
    on: ({ admin, configFile }) => (writeFileSync(configFile, "policy: topas\n"), admin("/admin/reload")),
  },
  "the scheduler dies": {
    off: async ({ breakPolicy }) => breakPolicy(),
    on: ({ admin }) => admin("/admin/policy", { policy: "topas" }),
  },
};

it.each(Object.keys(WAYS))(
  "K09: rollback under load by %s: nothing lost, nothing twice, engine defaults, and back",
  { timeout: 60_000 },
  async (name) => {
    const way = WAYS[name]!;
    const configFile = join(folder, "topas.yaml");
    writeFileSync(configFile, "policy: topas\n");
    const engine = new LlamaEngine({ modelPath, kvTokens: 1024, maxRunning: 6, threads: 1, checkEveryStep: true });
    const submitted: string[] = [];
    const submit = engine.submit.bind(engine);
    engine.submit = (call, sink) => {
      submitted.push(call.id);
      submit(call, sink);
    };
    let broken = false;
    const faults: string[] = [];
    /** Every decision: whose, when, and what had been overtaken and preempted until then. */
    const decided: { policy: Policy; at: number; overtakes: number; preemptions: number; leaving: number }[] = [];
    const gateway = await startGateway({
      engine,
      policy: "topas",
      host: "127.0.0.1",
      port: 0,
      keys: new Map(),
      config: { path: configFile },
      decide: (state, policy, now) => {
        if (broken && policy.id === "topas") throw new Error("injected: the policy is dead");
        const { overtakes_total: overtakes, preemptions_total: preemptions } = gateway.loop.counters_;
        const leaving = [...state.waiting.values()].filter((r) => r.pendingMode !== null).length;
        decided.push({ policy, at: performance.now(), overtakes, preemptions, leaving });
        return decide(state, policy, now);
      },
      onEvent: (state, event) => faults.push(...checkInvariants(state).map((v) => `${event.kind}: ${v}`)),
    });
    const { loop } = gateway;
    const admin: Drill["admin"] = (path, body) =>
      fetch(`${gateway.url}${path}`, body === undefined ? { method: "POST" } : { ...JSON_POST, body: JSON.stringify(body) });
    const drill: Drill = { admin, configFile, breakPolicy: () => void (broken = true) };
    const parked = (): number => [...loop.waiting.values()].filter((r) => r.submitted).length;
    const until = async (what: string, condition: () => boolean): Promise<void> => {
      const end = performance.now() + 20_000;
      while (!condition()) {
        if (performance.now() > end) throw new Error(`never happened: ${what}`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    /** Index of the first decision of `policy` after `act`, and the milliseconds until then. */
    const effect = async (policy: string, act: () => Promise<unknown>): Promise<{ first: number; ms: number }> => {
      const from = performance.now();
      const seen = decided.length;
      const done = act();
      const find = (): number => decided.findIndex((d, i) => i >= seen && d.policy.id === policy);
      await until(`a decision of ${policy}`, () => find() >= 0);
      await done;
      return { first: find(), ms: decided[find()]!.at - from };
    };

    const jobs = Promise.all(Array.from({ length: 9 }, (_, task) => workflow(gateway.url, task)));
    await until("a preempted call is parked", () => parked() > 0 && loop.running.size > 0);
    const load = { parked: parked(), waiting: loop.waiting.size, running: loop.running.size };
    const off = await effect("fcfs", () => way.off(drill));
    const finished = loop.counters_.calls_finished_total;
    await until("six calls under passthrough", () => loop.counters_.calls_finished_total >= finished + 6);
    expect(loop.waiting.size + loop.running.size).toBeGreaterThan(3);
    expect(loop.policyId).toBe("passthrough");
    const dies = name === "the scheduler dies";
    expect(loop.fallback?.reason ?? null).toBe(dies ? "policy_failed" : null);
    const health = await (await fetch(`${gateway.url}/health`)).json();
    expect(health).toMatchObject(dies ? { status: "degraded", from: "topas", policy: "passthrough" } : { status: "ok" });
    broken = false;
    const on = await effect("topas", () => way.on(drill));

    // Engine defaults: between the two switches there is one order, first come first served, and nothing is taken back.
    const between = decided.slice(off.first, on.first);
    const [start, end] = [between[0]!, between.at(-1)!];
    for (const { policy } of between) {
      expect([policy.order.id, policy.reserve.id, policy.options.fit]).toEqual(["fcfs", "full", "stop"]);
      expect(policy.preempt.voluntary).toBe(false);
    }
    expect(end.preemptions - start.preemptions).toBe(0);
    // A call that is just leaving the engine cannot be admitted yet; everybody else goes in order of arrival.
    expect(end.overtakes - start.overtakes).toBeLessThanOrEqual(6 * start.leaving);

    const calls = (await jobs).flat();
    expect(calls).toHaveLength(36);
    for (const [asked, got] of calls) expect(got).toBe(asked);
    expect(new Set(submitted).size).toBe(36);
    expect(submitted).toHaveLength(36);
    expect(loop.counters()).toMatchObject({
      calls_total: 36,
      calls_finished_total: 36,
      scheduler_errors_total: dies ? 1 : 0,
      policy_fallbacks_total: dies ? 1 : 0,
      policy_fallback: 0,
    });
    const books = ledgerSnapshot(loop.state);
    const cells = await engine.inspect();
    expect(books).toMatchObject({ runningTokens: 0, promisedTokens: 0, pendingFreeTokens: 0 });
    expect({ free: books.freeTokens, resident: books.residentTokens }).toEqual({
      free: cells.free,
      resident: cells.prefixCells + cells.sessionCells,
    });
    expect({ private: cells.privateCells, defects: cells.defects, problem: cells.problem }).toEqual({
      private: 0,
      defects: 0,
      problem: null,
    });
    expect(loop.snapshot().entries.reduce((n, e) => n + e.users, 0)).toBe(0);
    expect(faults).toEqual([]);
    console.log(
      `rollback by ${name}: effect after ${off.ms.toFixed(1)} ms, back after ${on.ms.toFixed(1)} ms; ` +
        `${load.running} running, ${load.waiting} waiting, ${load.parked} of them preempted at the switch`,
    );
    await gateway.close();
  },
);
