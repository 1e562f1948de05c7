import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkInvariants, ledgerSnapshot } from "@topas/core";
import { LlamaEngine, ensureModel } from "@topas/engines/llama";
import { startGateway } from "@topas/gateway";
import { beforeAll, expect, it } from "vitest";

let modelPath: string;
beforeAll(async () => {
  modelPath = await ensureModel("nano1m", mkdtempSync(join(tmpdir(), "topas-model-")));
});

const words = (n: number, seed: number): string =>
  Array.from({ length: n }, (_, i) => ` w${String((seed * 7919 + i * 104729) % 500).padStart(3, "0")}`).join("");

interface Answer {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}

it.each(["fcfs", "lpm", "topas", "topas-guarded"])(
  "%s: the scheduler's books agree with the cells of the real engine, through random arrivals, cancels and a restart",
  { timeout: 60_000 },
  async (policy) => {
    const engine = new LlamaEngine({ modelPath, kvTokens: 1024, maxRunning: 6, restartDelayMs: 20, checkEveryStep: true });
    const broken: string[] = [];
    const gateway = await startGateway({
      engine,
      policy,
      host: "127.0.0.1",
      port: 0,
      keys: new Map(),
      onEvent: (state, event) => broken.push(...checkInvariants(state).map((v) => `${event.kind}: ${v}`)),
    });
    let random = 11;
    const next = (n: number): number => (random = (random * 1103515245 + 12345) & 0x7fffffff) % n;
    const call = async (i: number, abortAfterMs: number | null): Promise<number> => {
      const agent = next(5);
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-topas-task": `t${i % 9}`, "x-topas-agent": `a${agent}` },
        body: JSON.stringify({
          max_tokens: 4 + next(40),
          ignore_eos: true,
          messages: [
            { role: "system", content: words(60 + 40 * agent, agent) },
            { role: "user", content: words(5 + next(60), 100 + i) },
          ],
        }),
        ...(abortAfterMs === null ? {} : { signal: AbortSignal.timeout(abortAfterMs) }),
      }).catch(() => null);
      return response === null ? 0 : response.status;
    };
    const statuses: number[] = [];
    const burst = (n: number): Promise<number[]> =>
      Promise.all(Array.from({ length: n }, (_, i) => call(i, i % 4 === 3 ? next(120) : null)));
    statuses.push(...(await burst(40)));
    const pid = engine.pid;
    const during = burst(20);
    if (pid !== null && pid !== undefined) process.kill(pid, "SIGKILL");
    statuses.push(...(await during));
    for (let i = 0; i < 500 && gateway.loop.engine() === null; i++) await new Promise((r) => setTimeout(r, 10));
    statuses.push(...(await burst(30)));
    for (let i = 0; i < 500 && gateway.loop.waiting.size + gateway.loop.running.size > 0; i++)
      await new Promise((r) => setTimeout(r, 10));

    const books = ledgerSnapshot(gateway.loop.state);
    const cells = await engine.inspect();
    expect(broken).toEqual([]);
    expect(books).toMatchObject({ runningTokens: 0, promisedTokens: 0, pendingFreeTokens: 0 });
    expect({ free: books.freeTokens, resident: books.residentTokens }).toEqual({
      free: cells.free,
      resident: cells.prefixCells + cells.sessionCells,
    });
    expect(cells.privateCells).toBe(0);
    expect({ defects: cells.defects, problem: cells.problem }).toEqual({ defects: 0, problem: null });
    expect(new Set(statuses.filter((s) => s !== 0))).toEqual(new Set([200, 503]));
    expect(gateway.loop.counters()["scheduler_errors_total"]).toBe(0);
    await gateway.close();
  },
);

const POLICIES = ["passthrough", "fcfs-o", "lpm", "task-fcfs-o", "topas", "topas-guarded", "kv-index"];

/** Texts of nine calls of three agents, greedy: each alone, or all at once under a policy. */
async function texts(policy: string, together: boolean): Promise<string[]> {
  const engine = new LlamaEngine({ modelPath, kvTokens: 1024, maxRunning: 6, mode: "exact" });
  const gateway = await startGateway({ engine, policy, host: "127.0.0.1", port: 0, keys: new Map() });
  const one = async (i: number, maxTokens = 10 + 3 * i): Promise<string> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        max_tokens: maxTokens,
        temperature: 0,
        ignore_eos: true,
        messages: [
          { role: "system", content: words(90, i % 3) },
          { role: "user", content: words(10 + 5 * i, 50 + i) },
        ],
      }),
    });
    return ((await response.json()) as Answer).choices[0]?.message.content ?? `status ${response.status}`;
  };
  const all = Array.from({ length: 9 }, (_, i) => i);
  for (const i of [0, 1, 2]) await one(i, 1);
  const out: string[] = [];
  if (together) out.push(...(await Promise.all(all.map((i) => one(i)))));
  else for (const i of all) out.push(await one(i));
  await gateway.close();
  return out;
}

it("exact mode, greedy: under every policy a call gets the text it gets alone", { timeout: 60_000 }, async () => {
  const alone = await texts("fcfs", false);
  let differ = 0;
  for (const policy of POLICIES) differ += (await texts(policy, true)).filter((text, i) => text !== alone[i]).length;
  // Cells that others free below a call's own may be reused for its next tokens: the one corner where rounding is not covered
  // (decision 0004). It shows in about one text of four hundred; in fast mode 12 of these 63 differed.
  expect(differ).toBeLessThanOrEqual(2);
});
