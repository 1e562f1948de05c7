/** A run of tokens of one stream below its parent. Streams are append-only, so equal stream and offset mean equal tokens. */
export class RadixNode {
  readonly id: number;
  parent: RadixNode | null;
  readonly stream: number;
  tokens: number;
  readonly children = new Map<number, RadixNode>();
  /** Running requests on this path. */
  locks = 0;
  access = 0;
  onDevice = true;
  onHost = false;
  deviceChildren = 0;

  constructor(id: number, parent: RadixNode | null, stream: number, tokens: number) {
    this.id = id;
    this.parent = parent;
    this.stream = stream;
    this.tokens = tokens;
  }
}

/** A token sequence as (stream, length) pairs. The last stream grows with what is generated. */
export interface TokenPath {
  readonly streams: readonly number[];
  readonly tokens: readonly number[];
}

/** Moves stream boundaries down to whole blocks: a block over two streams belongs to the second (hash of the whole chain). */
export function alignPath(streams: readonly number[], tokens: readonly number[], blockTokens: number): TokenPath {
  const aligned: number[] = [];
  let end = 0;
  let alignedEnd = 0;
  for (const length of tokens) {
    end += length;
    const down = Math.floor(end / blockTokens) * blockTokens;
    aligned.push(down - alignedEnd);
    alignedEnd = down;
  }
  return { streams, tokens: aligned };
}
