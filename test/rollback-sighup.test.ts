import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("K72 SIGHUP with a changed file: the process lives, open streams keep their bytes, the new limit holds, rubbish changes nothing", async () => {
  const parts = Array.from({ length: 8 }, (_, i) => `data: {"choices":[{"delta":{"content":"${i}"}}]}\n\n`);
  const upstream = createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of parts) {
      response.write(part);
      await sleep(120);
    }
    response.end("data: [DONE]\n\n");
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");

  const config = join(mkdtempSync(join(tmpdir(), "topas-sighup-")), "topas.yaml");
  writeFileSync(config, "policy: fcfs\n");
  const bin = fileURLToPath(new URL("../packages/topas/bin/topas.js", import.meta.url));
  const target = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [bin, "serve", "--port", "0", "--upstream", target, "--no-profile", "--config", config]);
  let out = "";
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const said = async (pattern: RegExp): Promise<string> => {
    for (let i = 0; i < 1_500; i++) {
      const found = pattern.exec(out)?.[1];
      if (found !== undefined) return found;
      if (child.exitCode !== null) break;
      await sleep(10);
    }
    throw new Error(`never said ${String(pattern)}: ${out}`);
  };
  try {
    const url = await said(/serves (http:\S+)\/v1/);
    const ask = (): Promise<Response> =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ stream: true, messages: [{ role: "user", content: "hi" }] }),
      });
    const streams = await Promise.all([ask(), ask(), ask(), ask()]);
    writeFileSync(config, "policy: [rubbish\n");
    child.kill("SIGHUP");
    await said(/(configuration not reloaded)/);
    writeFileSync(config, "policy: passthrough\nkeys: {requestsPerMinute: 1}\n");
    child.kill("SIGHUP");
    await said(/(configuration reloaded)/);
    expect(out).toContain('{"key":"policy","from":"fcfs","to":"passthrough"}');
    const texts = streams.map((response) => response.text());
    const after = await ask();
    expect([after.status, (await ask()).status]).toEqual([200, 429]);
    for (const text of [...(await Promise.all(texts)), await after.text()])
      expect(text).toBe(`${parts.join("")}data: [DONE]\n\n`);
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
    upstream.closeAllConnections();
    upstream.close();
  }
});
