import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createState } from "@topas/core";
import { expect, it } from "vitest";
import { coreConfig } from "./loop/engine-view.ts";
import { createProfileFile } from "./profile-store.ts";
import { ScriptedEngine } from "@topas/engines";

const fresh = () => createState(coreConfig(new ScriptedEngine().describe())).profile;
const folder = (): string => mkdtempSync(join(tmpdir(), "topas-profile-"));

it("loads what it saved, through a folder that was not there", () => {
  const path = join(folder(), "state", "profile.json");
  const warnings: string[] = [];
  const store = createProfileFile(path, (message) => warnings.push(message));
  expect(store.load()).toBeUndefined();
  const profile = fresh();
  store.flush(profile);
  expect(createProfileFile(path, () => {}).load()).toEqual(profile);
  expect(warnings).toEqual([]);
});

it("a damaged file is told and ignored; a path that cannot be written is told once", () => {
  const path = join(folder(), "profile.json");
  writeFileSync(path, '{"version":1,"checksum":"0","profile":{}}');
  const warnings: string[] = [];
  const store = createProfileFile(path, (message, data) => warnings.push(`${message} ${JSON.stringify(data)}`));
  expect(store.load()).toBeUndefined();
  expect(warnings.join()).toMatch(/badChecksum|badShape/);
  const blocked = createProfileFile(join(path, "below-a-file"), (message) => warnings.push(message));
  blocked.flush(fresh());
  blocked.flush(fresh());
  expect(warnings.filter((w) => w.includes("cannot be saved"))).toHaveLength(1);
});

it("saves at most once a minute and leaves no temporary file", () => {
  const at = folder();
  const store = createProfileFile(join(at, "profile.json"), () => {});
  for (const now of [0, 1, 59]) store.save(fresh(), now);
  expect(readdirSync(at)).toEqual([]);
  store.save(fresh(), 61);
  expect(readdirSync(at)).toEqual(["profile.json"]);
});
