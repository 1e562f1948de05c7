import type { Item } from "./item.ts";

/**
 * Waiting items in order, in chunks that know the least any of their items asks for, so that a search for one that fits
 * passes whole chunks by. Insertion and removal find their place by comparison, never by scanning (algorithm 5.4).
 */
export interface Line {
  readonly chunks: Chunk[];
  /** Smallest need and shortest service still ahead of each chunk, tokens and seconds. */
  readonly leastTokens: number[];
  readonly leastSeconds: number[];
  size: number;
  /** Sum of needs, tokens. */
  tokens: number;
}

export interface Chunk {
  readonly items: Item[];
  /** Need in tokens and service still ahead in seconds of each item, side by side for the search. */
  readonly needs: number[];
  readonly ends: number[];
}

type Compare = (a: Item, b: Item) => number;

const CHUNK = 64;

export function newLine(): Line {
  return { chunks: [], leastTokens: [], leastSeconds: [], size: 0, tokens: 0 };
}

export function insert(line: Line, item: Item, compare: Compare): void {
  const { chunks } = line;
  line.size += 1;
  line.tokens += item.needTokens;
  const at = chunks.length === 0 ? 0 : Math.min(chunkFor(chunks, item, compare), chunks.length - 1);
  if (chunks.length === 0) chunks.push({ items: [], needs: [], ends: [] });
  const { items, needs, ends } = chunks[at]!;
  const place = placeIn(items, item, compare);
  items.splice(place, 0, item);
  needs.splice(place, 0, item.needTokens);
  ends.splice(place, 0, item.endSeconds);
  if (items.length > CHUNK) split(line, at);
  else {
    line.leastTokens[at] = Math.min(line.leastTokens[at] ?? Infinity, item.needTokens);
    line.leastSeconds[at] = Math.min(line.leastSeconds[at] ?? Infinity, item.endSeconds);
  }
}

function split(line: Line, at: number): void {
  const { items, needs, ends } = line.chunks[at]!;
  const half = CHUNK / 2;
  line.chunks.splice(at + 1, 0, { items: items.splice(half), needs: needs.splice(half), ends: ends.splice(half) });
  line.leastTokens.splice(at + 1, 0, 0);
  line.leastSeconds.splice(at + 1, 0, 0);
  summarise(line, at);
  summarise(line, at + 1);
}

function summarise(line: Line, at: number): void {
  const { needs, ends } = line.chunks[at]!;
  line.leastTokens[at] = least(needs);
  line.leastSeconds[at] = least(ends);
}

function least(values: readonly number[]): number {
  let smallest = Infinity;
  for (let i = 0; i < values.length; i++) if (values[i]! < smallest) smallest = values[i]!;
  return smallest;
}

/** False: it is not in its place. Its key, need and end must be those it was put in with. */
export function remove(line: Line, item: Item, compare: Compare): boolean {
  const { chunks } = line;
  const at = chunkFor(chunks, item, compare);
  const chunk = chunks[at];
  if (chunk === undefined) return false;
  const { items } = chunk;
  const place = placeIn(items, item, compare);
  if (items[place] !== item) return false;
  items.splice(place, 1);
  chunk.needs.splice(place, 1);
  chunk.ends.splice(place, 1);
  line.size -= 1;
  line.tokens -= item.needTokens;
  if (items.length === 0) {
    chunks.splice(at, 1);
    line.leastTokens.splice(at, 1);
    line.leastSeconds.splice(at, 1);
  } else if (item.needTokens <= line.leastTokens[at]! || item.endSeconds <= line.leastSeconds[at]!) summarise(line, at);
  return true;
}

export function first(line: Line): Item | null {
  return line.chunks[0]?.items[0] ?? null;
}

/** Up to `most` items from the front. */
export function front(line: Line, most: number): Item[] {
  const out: Item[] = [];
  for (const { items } of line.chunks) {
    for (const item of items) {
      if (out.length >= most) return out;
      out.push(item);
    }
  }
  return out;
}

export function allOf(line: Line): Item[] {
  return front(line, Infinity);
}

/** First chunk whose last item is not before `item`. */
function chunkFor(chunks: readonly Chunk[], item: Item, compare: Compare): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { items } = chunks[middle]!;
    if (compare(items[items.length - 1]!, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function placeIn(items: readonly Item[], item: Item, compare: Compare): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(items[middle]!, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
