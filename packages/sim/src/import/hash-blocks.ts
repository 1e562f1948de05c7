/** Ids of full blocks by what they hold; equal content from the start of a prompt gives equal ids. Ids are local to one export. */
export class HashBlocks {
  private readonly ids = new Map<string, number>();
  private readonly blockTokens: number;

  constructor(blockTokens: number) {
    this.blockTokens = blockTokens;
  }

  /** A prompt of a shared prefix and a private stream that later prompts of the stage extend. The last block may be part-filled. */
  of(agent: string, prefixTokens: number, stream: string, inputTokens: number): number[] {
    const blocks = Math.ceil(inputTokens / this.blockTokens);
    return Array.from({ length: blocks }, (_, i) => {
      const end = (i + 1) * this.blockTokens;
      const owner = end <= prefixTokens ? `agent ${agent}` : `stage ${stream}`;
      return this.id(`${owner} ${i}${end > inputTokens ? ` ${inputTokens}` : ""}`);
    });
  }

  private id(key: string): number {
    let id = this.ids.get(key);
    if (id === undefined) this.ids.set(key, (id = this.ids.size));
    return id;
  }
}
