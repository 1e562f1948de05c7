import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createKeyLimiter } from "../key-limits.ts";
import { loopRig, turn, type Rig } from "../testing/loop-rig.ts";
import { createReload, type ConfigSource, type ReloadReport } from "./reload.ts";

let rig: Rig | null = null;
afterEach(async () => {
  await rig?.loop.close();
  rig = null;
});

const path = join(mkdtempSync(join(tmpdir(), "topas-config-")), "topas.yaml");

async function reloadRig(text: string, held: ConfigSource["held"] = {}) {
  writeFileSync(path, text);
  rig = await loopRig({ maxRunning: 1 }, { policy: "topas-guarded" });
  const said: string[] = [];
  const log = {
    level: "warn",
    warn: (_: object, message: string) => said.push(message),
    error: (_: object, message: string) => said.push(message),
  };
  const keyLimiter = createKeyLimiter();
  const reload = createReload({ path, held }, { loop: rig.loop, keyLimiter, log });
  const write = (next: string): ReloadReport => {
    writeFileSync(path, next);
    return reload();
  };
  return { ...rig, keyLimiter, log, said, write };
}

describe("reload", () => {
  it("K72 new limits and policy hold from the next call on; what needs a restart is named", async () => {
    const r = await reloadRig("policy: topas-guarded\nstart: {port: 8900}");
    const report = r.write(
      "policy: fcfs\npolicyOptions: {reserve: full}\nqueue: {limit: 1}\nkeys: {inFlight: 2}\ntasks: {idleSeconds: 5}\nlog: error\nstart: {port: 8901}",
    );
    expect(report.changed.map(({ key }) => key)).toEqual([
      "queueLimit",
      "taskIdleSeconds",
      "policy",
      "policyOptions",
      "keyLimits",
      "log",
    ]);
    expect(report.needsRestart).toEqual(["start.port"]);
    expect([r.loop.policyId, r.keyLimiter.limits.inFlight, r.log.level, r.loop.settings.taskIdleSeconds]).toEqual([
      "fcfs",
      2,
      "error",
      5,
    ]);
    await r.send("a");
    await turn();
    await r.send("b");
    await expect(r.send("c")).rejects.toMatchObject({ code: "queue_full" });
    await r.drain();
    expect(r.write("policy: fcfs").changed.map(({ key }) => key)).toEqual([
      "queueLimit",
      "taskIdleSeconds",
      "policyOptions",
      "keyLimits",
      "log",
    ]);
    expect(r.said).toEqual(["configuration reloaded", "configuration reloaded"]);
  });

  it("K73 half a configuration changes nothing: every value is checked before the first is written", async () => {
    const r = await reloadRig("policy: topas-guarded");
    const before = JSON.stringify([r.loop.policyId, r.loop.settings, r.keyLimiter.limits, r.log.level]);
    for (const bad of [
      "queue: {limit: 1}\npolicy: no-such",
      "queue: {limit: 1}\npolicy: oracle-srpt",
      "log: error\nqueue: {limit: 1}\npolicy: lpm\npolicyOptions: {rho: 1}",
      "keys: {inFlight: 1}\nshadow: lpm",
      "queue: {limit: 1",
      "",
    ])
      expect(() => r.write(bad)).toThrow(/topas\.yaml/);
    expect(() => r.write("log: error\npolicy: no-such")).toThrow(/topas\.yaml:2: unknown policy "no-such"/);
    expect(JSON.stringify([r.loop.policyId, r.loop.settings, r.keyLimiter.limits, r.log.level])).toBe(before);
    expect(r.loop.counters()).toMatchObject({ config_reload_failed_total: 7, config_reloads_total: 0 });
  });

  it("flags of the command line win over the file, and it says so", async () => {
    const r = await reloadRig("policy: topas-guarded", { policy: "topas-guarded" });
    expect(r.write("policy: fcfs\nqueue: {limit: 3}")).toMatchObject({ heldByFlag: ["policy"] });
    expect([r.loop.policyId, r.loop.settings.queueLimit]).toEqual(["topas-guarded", 3]);
  });

  it("a reload makes the file's word the running state: an admin's switch does not outlive it", async () => {
    const r = await reloadRig("policy: topas-guarded");
    r.loop.setPolicy("passthrough");
    expect(r.write("policy: topas-guarded").changed).toEqual([{ key: "policy", from: "passthrough", to: "topas-guarded" }]);
    expect(r.loop.policyId).toBe("topas-guarded");
  });
});
