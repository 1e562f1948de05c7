/**
 * `npm run bench:gateway [-- --quick] [-- --json]`: the gateway with scheduling on, beside direct and beside a plain
 * fastify + undici proxy, in one run, interleaved. Ratios are the result; the digits belong to this machine.
 */
import { quantile } from "@topas/sim";
import { table } from "../src/demo/report.ts";
import { drive, leave } from "./gateway/load.ts";
import { startSubject, type Subject } from "./gateway/process.ts";

const quick = process.argv.includes("--quick");
const rounds = quick ? 2 : 5;
const jsonCalls = quick ? 300 : 1500;
const streams = quick ? 60 : 200;
const CHUNKS = 200;

const upstream = await startSubject(new URL("./gateway/upstream.ts", import.meta.url), []);
const subjects: { name: string; subject: Subject }[] = [
  { name: "direct", subject: upstream },
  { name: "fastify + undici", subject: await startSubject(new URL("./gateway/plain-proxy.ts", import.meta.url), [upstream.url]) },
  {
    name: "topas, passthrough",
    subject: await startSubject(new URL("./gateway/gateway-process.ts", import.meta.url), [upstream.url, "passthrough"]),
  },
  {
    name: "topas, scheduling",
    subject: await startSubject(new URL("./gateway/gateway-process.ts", import.meta.url), [upstream.url, "topas"]),
  },
];

interface Row {
  one: number[];
  jsonCpuUs: number;
  jsonCalls: number;
  jsonWallMs: number;
  streamCpuUs: number;
  streams: number;
  streamWallMs: number;
  shortCpuUs: number;
  shortStreams: number;
  rss: number;
}
const rows = new Map<string, Row>();

for (const { subject } of subjects) await drive(subject.url, { calls: jsonCalls, connections: 8, stream: false, chunks: 1 });
for (let round = 0; round < rounds; round++) {
  for (const { name, subject } of subjects) {
    const row = rows.get(name) ?? {
      one: [],
      jsonCpuUs: 0,
      jsonCalls: 0,
      jsonWallMs: 0,
      streamCpuUs: 0,
      streams: 0,
      streamWallMs: 0,
      shortCpuUs: 0,
      shortStreams: 0,
      rss: 0,
    };
    rows.set(name, row);
    row.one.push(...(await drive(subject.url, { calls: quick ? 100 : 300, connections: 1, stream: false, chunks: 1 })).ms);
    const cpu = async (load: Parameters<typeof drive>[1]): Promise<{ cpuUs: number; wallMs: number }> => {
      const before = await subject.usage();
      const { wallMs } = await drive(subject.url, load);
      const after = await subject.usage();
      row.rss = Math.max(row.rss, after.rss);
      return { cpuUs: after.cpuUs - before.cpuUs, wallMs };
    };
    const json = await cpu({ calls: jsonCalls, connections: 32, stream: false, chunks: 1 });
    row.jsonCpuUs += json.cpuUs;
    row.jsonCalls += jsonCalls;
    row.jsonWallMs += json.wallMs;
    const long = await cpu({ calls: streams, connections: 32, stream: true, chunks: CHUNKS });
    row.streamCpuUs += long.cpuUs;
    row.streams += streams;
    row.streamWallMs += long.wallMs;
    const short = await cpu({ calls: streams * 4, connections: 32, stream: true, chunks: 1 });
    row.shortCpuUs += short.cpuUs;
    row.shortStreams += streams * 4;
  }
}

const direct = rows.get("direct");
const results = subjects.map(({ name }) => {
  const r = rows.get(name);
  if (r === undefined || direct === undefined) throw new Error(`no row for ${name}`);
  return {
    name,
    p50AddedMs: quantile(r.one, 0.5) - quantile(direct.one, 0.5),
    p99AddedMs: quantile(r.one, 0.99) - quantile(direct.one, 0.99),
    cpuUsPerCall: r.jsonCpuUs / r.jsonCalls,
    cpuUsPerChunk: (r.streamCpuUs / r.streams - r.shortCpuUs / r.shortStreams) / (CHUNKS - 1),
    callsPerSecond: (1000 * r.jsonCalls) / r.jsonWallMs,
    streamsPerSecond: (1000 * r.streams) / r.streamWallMs,
    rssMib: r.rss / 1048576,
  };
});

/** Worst of a few tries: client leaves, until the upstream sees the closed socket. */
const abortMs: Record<string, number> = {};
for (const { name, subject } of subjects) {
  for (const stream of [true, false]) {
    let worst = 0;
    for (let i = 0; i < (quick ? 3 : 10); i++) {
      await upstream.ask("closed");
      const left = await leave(subject.url, stream, 60);
      let seen: number[] = [];
      for (let tries = 0; tries < 100 && seen.length === 0; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        seen = (await upstream.ask("closed")) as number[];
      }
      worst = Math.max(worst, seen.length === 0 ? Number.POSITIVE_INFINITY : Math.max(0, Math.min(...seen) - left));
    }
    abortMs[`${name} ${stream ? "stream" : "json"}`] = worst;
  }
}
for (const { subject } of subjects) subject.stop();

if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ evidence: "real-cpu", upstream: "scripted", chunksPerStream: CHUNKS, rows: results, abortMs }));
} else {
  console.log(
    `upstream: a bare scripted HTTP server; every subject in its own process; ${rounds} interleaved rounds on one shared machine: read ratios\n`,
  );
  console.log(
    table(
      ["subject", "added p50 ms", "added p99 ms", "CPU us/call", "CPU us/chunk", "calls/s", "streams/s", "RSS MiB"],
      results.map((r) => [
        r.name,
        r.p50AddedMs.toFixed(2),
        r.p99AddedMs.toFixed(2),
        r.name === "direct" ? "-" : r.cpuUsPerCall.toFixed(0),
        r.name === "direct" ? "-" : r.cpuUsPerChunk.toFixed(2),
        r.callsPerSecond.toFixed(0),
        r.streamsPerSecond.toFixed(0),
        r.rssMib.toFixed(0),
      ]),
    ),
  );
  console.log(
    `\nclient gone until the upstream sees it, worst, ms: ${Object.entries(abortMs)
      .map(([k, v]) => `${k} ${v.toFixed(0)}`)
      .join(" · ")}`,
  );
}
