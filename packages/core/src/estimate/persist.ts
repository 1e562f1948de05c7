import { emptyStats, emptyProfile, STAGE_STRIDE, type Profile, type ProfileStats } from "./profile.ts";
import { RING, ringSize, type Ring } from "./ring.ts";
import type { WorkflowProfile } from "./workflow.ts";

export const PROFILE_VERSION = 1;

export type ParsedProfile =
  | { readonly ok: true; readonly profile: Profile }
  | { readonly ok: false; readonly reason: "notJson" | "unknownVersion" | "badChecksum" | "badShape" };

/** The profile as one JSON text with version and checksum: loading it is as if the process had never stopped (2.10). */
export function serialiseProfile(profile: Profile): string {
  const body = {
    stats: [...profile.stats].map(([key, s]) => [key, statsToPlain(s)]),
    workflows: [...profile.workflows].map(([key, w]) => [
      key,
      { ...w, moves: [...w.moves].map(([from, row]) => [from, [...row]]) },
    ]),
    waits: [...profile.waits].map(([key, ring]) => [key, ringToPlain(ring)]),
    difficulty: [...profile.difficulty],
  };
  const text = JSON.stringify(body);
  return `{"version":${PROFILE_VERSION},"checksum":"${checksum(text)}","profile":${text}}`;
}

/** Never throws: an unknown version or a damaged text gives a reason, and the caller starts cold. */
export function parseProfile(text: string): ParsedProfile {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return { ok: false, reason: "notJson" };
  }
  if (typeof file !== "object" || file === null) return { ok: false, reason: "badShape" };
  const { version, checksum: sum, profile } = file as Record<string, unknown>;
  if (version !== PROFILE_VERSION) return { ok: false, reason: "unknownVersion" };
  if (sum !== checksum(JSON.stringify(profile) ?? "")) return { ok: false, reason: "badChecksum" };
  try {
    return { ok: true, profile: fromPlain(profile as PlainProfile) };
  } catch {
    return { ok: false, reason: "badShape" };
  }
}

type PlainRing = readonly [seen: number, ...data: number[]];
type PlainStats = Omit<ProfileStats, "callRing" | "stageRing"> & { readonly callRing: PlainRing; readonly stageRing: PlainRing };
type PlainWorkflow = Omit<WorkflowProfile, "moves"> & { readonly moves: [string, [string, number][]][] };
interface PlainProfile {
  readonly stats: readonly (readonly [string, PlainStats])[];
  readonly workflows: readonly (readonly [string, PlainWorkflow])[];
  readonly waits: readonly (readonly [string, PlainRing])[];
  readonly difficulty: readonly (readonly [string, Profile["difficulty"] extends Map<string, infer D> ? D : never])[];
}

function fromPlain(plain: PlainProfile): Profile {
  const profile = emptyProfile();
  for (const [key, stats] of plain.stats) {
    const callRing = ringFromPlain(stats.callRing, 2);
    const stageRing = ringFromPlain(stats.stageRing, STAGE_STRIDE);
    profile.stats.set(key, { ...emptyStats(), ...stats, callRing, stageRing });
    profile.numbers += callRing.data.length + stageRing.data.length;
  }
  for (const [key, workflow] of plain.workflows)
    profile.workflows.set(key, { ...workflow, moves: new Map(workflow.moves.map(([from, row]) => [from, new Map(row)])) });
  for (const [key, ring] of plain.waits) profile.waits.set(key, ringFromPlain(ring, 1));
  for (const [key, sums] of plain.difficulty) profile.difficulty.set(key, sums);
  return profile;
}

function statsToPlain(stats: ProfileStats): PlainStats {
  return { ...stats, callRing: ringToPlain(stats.callRing), stageRing: ringToPlain(stats.stageRing) };
}

/** Slots as they lie, so that the next record lands where it would have. */
function ringToPlain(ring: Ring): PlainRing {
  return [ring.seen, ...ring.data.subarray(0, ringSize(ring) * ring.stride)];
}

function ringFromPlain([seen, ...data]: PlainRing, stride: number): Ring {
  const size = Math.min(seen, RING);
  if (!Number.isInteger(seen) || seen < 0 || data.length !== size * stride) throw new Error("ring");
  if (!data.every((value) => Number.isFinite(value))) throw new Error("ring");
  let capacity = size === 0 ? 0 : 4;
  while (capacity < size) capacity *= 2;
  const storage = new Float64Array(Math.min(RING, capacity) * stride);
  storage.set(data);
  return { stride, data: storage, seen };
}

/** 64-bit checksum as 16 hexadecimal digits: it finds damage, not forgery. */
function checksum(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  }
  const hex = (n: number): string => (n >>> 0).toString(16).padStart(8, "0");
  return hex(a) + hex(b);
}
