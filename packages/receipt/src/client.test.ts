import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { topasFetch } from "./client.ts";
import { decodeReceiptHeader } from "./decode.ts";

const url = "http://gateway.test/v1/chat/completions";
const post = { method: "POST", body: "{}" };
const answer = () => Promise.resolve(new Response("ok"));
const spy = () => vi.fn<typeof fetch>(answer);
const sent = (send: ReturnType<typeof spy>) => new Headers(send.mock.calls[0]?.[1]?.headers).get("x-topas-receipt");
const context = () => ({ taskId: "t", stage: "s" });

describe("topasFetch", () => {
  it.each(["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages?beta=true", "/openai/chat/completions/"])(
    "attaches the receipt on %s",
    async (path) => {
      const send = spy();
      await topasFetch(send, context)(`http://gateway.test${path}`, post);
      expect(decodeReceiptHeader(sent(send) ?? "")).toMatchObject({ ok: true, receipt: { taskId: "t", stage: "s" } });
    },
  );

  it.each([
    "/v1/models",
    "/v1/messages/count_tokens",
    "/v1/threads/t1/messages",
    "/v1/embeddings",
    "/v1/responses/r1",
    "/x?u=/chat/completions",
  ])("leaves %s alone", async (path) => {
    const send = spy();
    await topasFetch(send, context)(`http://gateway.test${path}`, post);
    expect(send).toHaveBeenCalledWith(`http://gateway.test${path}`, post);
  });

  it("leaves GET, other hosts, empty contexts and a caller's own receipt alone", async () => {
    for (const [init, options, make] of [
      [{ method: "GET" }, {}, context],
      [post, { baseURL: "http://other.test/" }, context],
      [post, {}, () => undefined],
      [{ ...post, headers: { "X-Topas-Receipt": "mine" } }, {}, context],
    ] as const) {
      const send = spy();
      await topasFetch(send, make, options)(url, init);
      expect(send.mock.calls[0]?.[1]).toBe(init);
    }
  });

  it("passes body, signal and other members on by identity", async () => {
    const send = spy();
    const init = {
      method: "post",
      body: new ReadableStream(),
      signal: new AbortController().signal,
      duplex: "half",
      headers: [["a", "b"]],
    } as RequestInit;
    await topasFetch(send, context)(new URL(url), init);
    const got = send.mock.calls[0]?.[1] as RequestInit & { duplex: string };
    expect([got.body, got.signal, got.method, got.duplex]).toEqual([init.body, init.signal, "post", "half"]);
    expect(got.body).toBe(init.body);
    expect(new Headers(got.headers).get("a")).toBe("b");
  });

  it("never throws and never alters the call when the receipt fails", async () => {
    const bad = [
      () => {
        throw new Error("context");
      },
      () => ({ taskId: "x".repeat(20_000) }),
      () => ({ taskId: "t", self: 1n }),
    ];
    for (const make of bad) {
      const send = spy();
      const onError = vi.fn(() => {
        throw new Error("reporter");
      });
      await topasFetch(send, make, { onError })(url, post);
      expect(send).toHaveBeenCalledWith(url, post);
      expect(onError).toHaveBeenCalledOnce();
    }
  });

  it("costs less than 1 ms a call, even with a graph of 5,000 stages", async () => {
    const stages = Array.from({ length: 5_000 }, (_, i) => ({ id: `stage-${i}`, agent: "coder" }));
    for (const make of [context, () => ({ taskId: "t", graph: { stages } })]) {
      const wrapped = topasFetch(answer, make);
      for (let i = 0; i < 200; i++) await wrapped(url, post);
      const start = performance.now();
      for (let i = 0; i < 500; i++) await wrapped(url, post);
      expect((performance.now() - start) / 500).toBeLessThan(1);
    }
  });

  it("pulls no dependency: every value import of the client path is a file of this folder that imports none", () => {
    const seen = new Set<string>();
    const open = ["client.ts"];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      seen.add(name);
      const source = readFileSync(new URL(name, import.meta.url), "utf8");
      for (const [, from] of source.matchAll(/^(?:import|export) (?!type\b)[^;]*? from "([^"]+)"/gm)) {
        expect(from).toMatch(/^\.\/\w+\.ts$/);
        open.push((from ?? "").slice(2));
      }
    }
    expect([...seen].toSorted()).toEqual(["client.ts", "encode.ts", "names.ts"]);
  });
});

describe("topasFetch on the wire", () => {
  const closers: (() => void)[] = [];
  afterEach(() => closers.splice(0).forEach((close) => close()));

  async function listen(): Promise<{ base: string; calls: { headers: Record<string, unknown>; body: Buffer }[] }> {
    const calls: { headers: Record<string, unknown>; body: Buffer }[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        calls.push({ headers: request.headers, body: Buffer.concat(chunks) });
        if (!request.url?.includes("/slow/")) response.end("ok");
      });
    });
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
  }

  it("body bytes, streaming bodies and Request objects arrive untouched, with the receipt", async () => {
    const { base, calls } = await listen();
    const bytes = Uint8Array.from({ length: 1024 }, (_, i) => i % 256);
    const wrapped = topasFetch(fetch, context);
    await wrapped(`${base}/v1/responses`, { method: "POST", body: bytes });
    const stream = new Blob([bytes]).stream();
    await wrapped(`${base}/v1/responses`, { method: "POST", body: stream, duplex: "half" } as RequestInit);
    const request = new Request(`${base}/v1/messages`, { method: "POST", body: bytes, headers: { "x-own": "1" } });
    await wrapped(request);
    expect(request.headers.has("x-topas-receipt")).toBe(false);
    expect(calls).toHaveLength(3);
    for (const call of calls) {
      expect(call.body.equals(Buffer.from(bytes))).toBe(true);
      expect(decodeReceiptHeader(String(call.headers["x-topas-receipt"]))).toMatchObject({ ok: true });
    }
    expect(calls[2]?.headers["x-own"]).toBe("1");
  });

  it("an abort signal still aborts, in init and in a Request", async () => {
    const { base } = await listen();
    for (const asRequest of [false, true]) {
      const control = new AbortController();
      const init = { method: "POST", body: "{}", signal: control.signal };
      const address = `${base}/slow/chat/completions`;
      const pending = asRequest
        ? topasFetch(fetch, context)(new Request(address, init))
        : topasFetch(fetch, context)(address, init);
      setTimeout(() => control.abort(), 30);
      await expect(pending).rejects.toMatchObject({ name: "AbortError" });
    }
  });
});
