import { Pool } from "undici";

const headers = { "content-type": "application/json" };

function body(index: number, stream: boolean, chunks: number, user?: string): string {
  return JSON.stringify({
    model: "m",
    stream,
    max_tokens: chunks,
    ...(user === undefined ? {} : { user }),
    messages: [
      { role: "system", content: `You are agent ${index % 8}. ${"Be brief and exact. ".repeat(40)}` },
      { role: "user", content: "What is the plan?" },
    ],
  });
}

/** `calls` calls over `connections`; returns each call's milliseconds and the whole wall time. */
export async function drive(
  url: string,
  load: { calls: number; connections: number; stream: boolean; chunks: number },
): Promise<{ ms: number[]; wallMs: number; bytes: number }> {
  const pool = new Pool(url, { connections: load.connections });
  const ms: number[] = [];
  let next = 0;
  let bytes = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      while (next < load.calls) {
        const index = next++;
        const at = performance.now();
        const answer = await pool.request({
          path: "/v1/chat/completions",
          method: "POST",
          headers,
          body: body(index, load.stream, load.chunks),
        });
        if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}: ${await answer.body.text()}`);
        for await (const part of answer.body) bytes += (part as Buffer).length;
        ms.push(performance.now() - at);
      }
    }),
  );
  const wallMs = performance.now() - started;
  await pool.close();
  return { ms, wallMs, bytes };
}

/** Opens a call that never ends, leaves it after `afterMs`, and says when it left (wall clock, milliseconds). */
export async function leave(url: string, stream: boolean, afterMs: number): Promise<number> {
  const pool = new Pool(url, { connections: 1 });
  const controller = new AbortController();
  const answer = pool
    .request({
      path: "/v1/chat/completions",
      method: "POST",
      headers,
      body: body(0, stream, 1, "hang"),
      signal: controller.signal,
    })
    .then((r) => r.body.text())
    .catch(() => null);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  const left = Date.now();
  controller.abort();
  await answer;
  await pool.destroy();
  return left;
}
