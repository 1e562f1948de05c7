import type { Item } from "./item.ts";

/**
 * Waiting items in order, in chunks that know the least any of their items asks for, so that a search for one that fits
 * passes whole chunks by. Insertion and removal find their place by comparison, never by scanning (algorithm 5.4).
 */
export interface Line {
  readonly chunks: Chunk[];
  size: number;
  /** Sum of needs, tokens. */
  tokens: number;
}

export interface Chunk {
  readonly items: Item[];
  /** Smallest need and shortest service still ahead among its items. */
  leastTokens: number;
  leastSeconds: number;
}

type Compare = (a: Item, b: Item) => number;

const CHUNK = 64;

export function newLine(): Line {
  return { chunks: [], size: 0, tokens: 0 };
}

export function insert(line: Line, item: Item, compare: Compare): void {
  const { chunks } = line;
  line.size += 1;
  line.tokens += item.needTokens;
  const at = Math.min(chunkFor(chunks, item, compare), chunks.length - 1);
  const chunk = chunks[at];
  if (chunk === undefined) {
    chunks.push(chunkOf([item]));
    return;
  }
  const { items } = chunk;
  items.splice(placeIn(items, item, compare), 0, item);
  chunk.leastTokens = Math.min(chunk.leastTokens, item.needTokens);
  chunk.leastSeconds = Math.min(chunk.leastSeconds, item.endSeconds);
  if (items.length <= CHUNK) return;
  chunks.splice(at + 1, 0, chunkOf(items.splice(CHUNK / 2)));
  chunks[at] = chunkOf(items);
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
  line.size -= 1;
  line.tokens -= item.needTokens;
  if (items.length === 0) chunks.splice(at, 1);
  else if (item.needTokens <= chunk.leastTokens || item.endSeconds <= chunk.leastSeconds) chunks[at] = chunkOf(items);
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

function chunkOf(items: Item[]): Chunk {
  let leastTokens = Infinity;
  let leastSeconds = Infinity;
  for (const { needTokens, endSeconds } of items) {
    if (needTokens < leastTokens) leastTokens = needTokens;
    if (endSeconds < leastSeconds) leastSeconds = endSeconds;
  }
  return { items, leastTokens, leastSeconds };
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
