import { expect, test } from "vitest";
import { alignPath } from "./radix-node.ts";
import { RadixTree } from "./radix-tree.ts";

const path = (...parts: [stream: number, tokens: number][]) => ({
  streams: parts.map(([s]) => s),
  tokens: parts.map(([, n]) => n),
});
const sglang = () => new RadixTree({ evictWholeNodes: true, hostTokens: 0 });
const vllm = () => new RadixTree({ evictWholeNodes: false, hostTokens: 0 });

test("two paths over one prefix hold it once", () => {
  const tree = sglang();
  tree.insert(path([1, 400], [2, 30]), 430);
  const { existing } = tree.insert(path([1, 400], [3, 50]), 450);
  expect(existing).toBe(400);
  expect(tree.deviceTokens).toBe(480);
  expect(tree.match(path([1, 400], [3, 50]), 449).tokens).toBe(449);
  expect(tree.match(path([1, 300], [9, 50]), 349).tokens).toBe(300);
  expect(tree.deviceTokens).toBe(480);
});

test("the last stream grows: the next round finds prompt and output", () => {
  const tree = sglang();
  tree.insert(path([1, 100], [2, 20]), 160);
  expect(tree.match(path([1, 100], [2, 90]), 189).tokens).toBe(160);
});

test("leaves leave by last access, parents after their children, locked paths never", () => {
  const tree = sglang();
  tree.insert(path([1, 100], [2, 10]), 110);
  tree.insert(path([1, 100], [3, 20]), 120);
  const kept = tree.insert(path([4, 50]), 50).node;
  tree.lock(kept);
  tree.match(path([1, 100], [2, 10]), 110);
  expect(tree.evict(1)).toBe(20);
  expect(tree.match(path([1, 100], [2, 10]), 110, false).tokens).toBe(110);
  expect(tree.evict(1_000)).toBe(110);
  expect(tree.deviceTokens).toBe(50);
  tree.unlock(kept, false);
  expect(tree.evict(1_000)).toBe(50);
});

test("block granularity frees only the tail that is needed", () => {
  const tree = vllm();
  tree.insert(path([1, 320]), 320);
  expect(tree.evict(32)).toBe(32);
  expect(tree.match(path([1, 320]), 319, false).tokens).toBe(288);
});

test("splitting keeps locks and counts", () => {
  const tree = sglang();
  const { node } = tree.insert(path([1, 100]), 100);
  tree.lock(node);
  tree.match(path([1, 40]), 40);
  expect([...tree.nodes()].map(({ tokens, locks }) => [tokens, locks])).toEqual([
    [40, 1],
    [60, 1],
  ]);
  tree.unlock(node, false);
  expect(tree.evictableTokens).toBe(100);
});

test("with a host tier evicted tokens can come back", () => {
  const tree = new RadixTree({ evictWholeNodes: true, hostTokens: 500 });
  tree.insert(path([1, 100], [2, 10]), 110);
  expect(tree.evict(110)).toBe(110);
  const match = tree.match(path([1, 100], [2, 30]), 129);
  expect([match.tokens, match.hostTokens]).toEqual([0, 110]);
  tree.toDevice(match.hostNode);
  expect(tree.deviceTokens).toBe(110);
  expect(tree.match(path([1, 100], [2, 30]), 129).tokens).toBe(110);
});

test("a block over two streams belongs to the second", () => {
  expect(alignPath([1, 2], [1_250, 500], 16)).toEqual({ streams: [1, 2], tokens: [1_248, 496] });
  expect(alignPath([1, 2], [1_250, 500], 1).tokens).toEqual([1_250, 500]);
});
