import type { SimAgent } from "../task.ts";

export interface HashedPrompt {
  readonly hashIds: readonly number[];
  readonly inputTokens: number;
}

interface Node {
  readonly next: Map<number, Node>;
  users: number;
  agent: SimAgent | null;
}

/**
 * Turns block hashes into agents: a prompt's prefix is its longest run of leading blocks that at least `leastUsers` prompts
 * begin with. Sharing nested inside a longer shared prefix is lost; that is all one prefix a call can say.
 */
export function sharedPrefixes(prompts: readonly HashedPrompt[], blockTokens: number, leastUsers = 2): SimAgent[] {
  const root: Node = { next: new Map(), users: 0, agent: null };
  for (const { hashIds } of prompts) {
    let node = root;
    for (const id of hashIds) {
      let next = node.next.get(id);
      if (next === undefined) node.next.set(id, (next = { next: new Map(), users: 0, agent: null }));
      next.users += 1;
      node = next;
    }
  }
  let named = 0;
  return prompts.map(({ hashIds, inputTokens }) => {
    let node = root;
    let blocks = 0;
    for (const id of hashIds) {
      const next = node.next.get(id)!;
      if (next.users < leastUsers || (blocks + 1) * blockTokens >= inputTokens) break;
      node = next;
      blocks += 1;
    }
    node.agent ??= { name: blocks === 0 ? "none" : `prefix${++named}`, prefixTokens: blocks * blockTokens };
    return node.agent;
  });
}

export function distinctAgents(agents: readonly SimAgent[]): SimAgent[] {
  return [...new Map(agents.map((agent) => [agent.name, agent])).values()];
}
