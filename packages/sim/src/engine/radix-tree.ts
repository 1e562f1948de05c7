import { Heap } from "../heap.ts";
import { RadixNode, type TokenPath } from "./radix-node.ts";

export interface Match {
  /** Deepest node whose tokens are on the device. */
  readonly node: RadixNode;
  readonly tokens: number;
  /** Deepest node of the tail that only the host holds; `node` if there is none. */
  readonly hostNode: RadixNode;
  readonly hostTokens: number;
}

export interface RadixOptions {
  /** SGLang evicts whole nodes; vLLM frees single blocks, the tail of a sequence first. */
  readonly evictWholeNodes: boolean;
  /** Host copies (write-through) up to this many tokens; 0: none. */
  readonly hostTokens: number;
}

/**
 * Prefix cache over symbolic token streams: SGLang's radix tree, and vLLM's hash chain when all lengths are whole blocks.
 * Unlocked leaves leave in order of last access (sections 6.1.7 and 6.2.5). Matching splits nodes as the original does.
 */
export class RadixTree {
  readonly root = new RadixNode(0, null, -1, 0);
  deviceTokens = 0;
  evictableTokens = 0;
  hostUsedTokens = 0;
  /** Changes whenever something enters or leaves, so that a refusal can be remembered. */
  version = 0;
  private readonly options: RadixOptions;
  private readonly leaves = new Heap<{ readonly node: RadixNode; readonly access: number }>(
    (a, b) => a.access - b.access || a.node.id - b.node.id,
  );
  private nextId = 1;
  private liveNodes = 0;
  private clock = 0;

  constructor(options: RadixOptions) {
    this.options = options;
    this.root.locks = 1;
  }

  /** Longest cached prefix of `path`, at most `limit` tokens. `touch`: refreshes its access time. */
  match(path: TokenPath, limit: number, touch = true): Match {
    let node = this.root;
    let device = node;
    let tokens = 0;
    let deviceTokens = 0;
    const access = touch ? ++this.clock : 0;
    for (let i = 0; i < path.streams.length; i++) {
      let left = Math.min(i + 1 < path.streams.length ? path.tokens[i]! : Infinity, limit - tokens);
      while (left > 0) {
        const child = node.children.get(path.streams[i]!);
        if (child === undefined) return { node: device, tokens: deviceTokens, hostNode: node, hostTokens: tokens - deviceTokens };
        node = child.tokens <= left ? child : this.split(child, left);
        tokens += node.tokens;
        left -= node.tokens;
        if (touch) this.touch(node, access);
        if (!node.onDevice) continue;
        device = node;
        deviceTokens = tokens;
      }
    }
    return { node: device, tokens: deviceTokens, hostNode: node, hostTokens: tokens - deviceTokens };
  }

  /** Puts the first `total` tokens of `path` on the device (its last stream takes the rest); `existing` were there before. */
  insert(path: TokenPath, total: number): { readonly node: RadixNode; readonly existing: number } {
    const found = this.match(path, total);
    let { node } = found;
    if (found.hostTokens > 0) this.toDevice(found.hostNode);
    node = found.hostNode;
    let at = found.tokens + found.hostTokens;
    let start = 0;
    for (let i = 0; i < path.streams.length && at < total; i++) {
      const end = i + 1 < path.streams.length ? Math.min(total, start + path.tokens[i]!) : total;
      if (end > at) {
        node = this.append(node, path.streams[i]!, end - at);
        at = end;
      }
      start = end;
    }
    return { node, existing: found.tokens };
  }

  /** Protects the path from the root to `node`. */
  lock(node: RadixNode): void {
    for (let at: RadixNode | null = node; at !== null && at !== this.root; at = at.parent) {
      if (at.locks === 0) this.evictableTokens -= at.tokens;
      at.locks += 1;
    }
  }

  /** `refresh`: the time of release is the time of last use (vLLM's free list). */
  unlock(node: RadixNode, refresh: boolean): void {
    const access = refresh ? ++this.clock : 0;
    for (let at: RadixNode | null = node; at !== null && at !== this.root; at = at.parent) {
      at.locks -= 1;
      if (refresh) at.access = access;
      if (at.locks > 0) continue;
      this.evictableTokens += at.tokens;
      this.offer(at);
    }
  }

  /** Frees at least `tokens` if that many are unlocked; returns what it freed. */
  evict(tokens: number): number {
    let freed = 0;
    while (freed < tokens) {
      const leaf = this.leaves.pop();
      if (leaf === undefined) break;
      const { node, access } = leaf;
      if (node.access !== access || !evictable(node)) continue;
      const take =
        this.options.evictWholeNodes || this.options.hostTokens > 0 ? node.tokens : Math.min(node.tokens, tokens - freed);
      freed += take;
      this.deviceTokens -= take;
      this.evictableTokens -= take;
      if (take < node.tokens) {
        node.tokens -= take;
        this.version += 1;
        this.offer(node);
      } else this.leaveDevice(node);
    }
    return freed;
  }

  /** Copies a host tail back: its tokens count on the device from now on. */
  toDevice(hostNode: RadixNode): void {
    for (let at: RadixNode | null = hostNode; at !== null && !at.onDevice; at = at.parent) {
      at.onDevice = true;
      this.deviceTokens += at.tokens;
      if (at.locks === 0) this.evictableTokens += at.tokens;
      if (at.parent !== null) at.parent.deviceChildren += 1;
    }
    this.offer(hostNode);
  }

  /** Drops the unlocked end of a path from the device, deepest node first. */
  forgetTail(path: TokenPath, tokens: number): void {
    for (let node: RadixNode | null = this.match(path, tokens, false).node; node !== null && evictable(node);) {
      const { parent }: RadixNode = node;
      this.deviceTokens -= node.tokens;
      this.evictableTokens -= node.tokens;
      this.leaveDevice(node);
      node = parent;
    }
  }

  /** Every node below the root, parents first. */
  *nodes(): Generator<RadixNode> {
    const open = [...this.root.children.values()];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      yield node;
      open.push(...node.children.values());
    }
  }

  private touch(node: RadixNode, access: number): void {
    node.access = access;
    this.offer(node);
  }

  private offer(node: RadixNode): void {
    if (!evictable(node)) return;
    this.leaves.push({ node, access: node.access });
    if (this.leaves.size > 64 + 4 * this.liveNodes) this.compact();
  }

  private compact(): void {
    const kept = new Map<RadixNode, number>();
    for (let leaf = this.leaves.pop(); leaf !== undefined; leaf = this.leaves.pop())
      if (leaf.node.access === leaf.access && evictable(leaf.node)) kept.set(leaf.node, leaf.access);
    for (const [node, access] of kept) this.leaves.push({ node, access });
  }

  /** Cuts the first `tokens` off `child` into a new upper node and returns that; `child` stays the lower one. */
  private split(child: RadixNode, tokens: number): RadixNode {
    const parent = child.parent!;
    this.liveNodes += 1;
    const upper = new RadixNode(this.nextId++, parent, child.stream, tokens);
    upper.locks = child.locks;
    upper.access = child.access;
    upper.onDevice = child.onDevice;
    upper.onHost = child.onHost;
    upper.deviceChildren = child.onDevice ? 1 : 0;
    upper.children.set(child.stream, child);
    parent.children.set(child.stream, upper);
    child.parent = upper;
    child.tokens -= tokens;
    return upper;
  }

  private append(parent: RadixNode, stream: number, tokens: number): RadixNode {
    this.liveNodes += 1;
    this.version += 1;
    const node = new RadixNode(this.nextId++, parent, stream, tokens);
    node.access = ++this.clock;
    parent.children.set(stream, node);
    parent.deviceChildren += 1;
    this.deviceTokens += tokens;
    this.evictableTokens += tokens;
    this.toHost(node);
    this.offer(node);
    return node;
  }

  private toHost(node: RadixNode): void {
    const room = this.options.hostTokens;
    if (room === 0 || node.tokens > room) return;
    for (const old of this.hostUsedTokens + node.tokens > room ? hostOnly(this) : []) {
      if (this.hostUsedTokens + node.tokens <= room) break;
      if (old.children.size === 0) this.drop(old);
    }
    if (this.hostUsedTokens + node.tokens > room) return;
    node.onHost = true;
    this.hostUsedTokens += node.tokens;
  }

  private leaveDevice(node: RadixNode): void {
    const parent = node.parent!;
    this.version += 1;
    parent.deviceChildren -= 1;
    node.onDevice = false;
    if (!node.onHost) this.drop(node);
    if (parent !== this.root) this.offer(parent);
  }

  /** Forgets a node that is off the device, and what hangs below it. */
  private drop(node: RadixNode): void {
    for (const child of node.children.values()) this.drop(child);
    if (node.onHost) this.hostUsedTokens -= node.tokens;
    node.onHost = false;
    this.liveNodes -= 1;
    node.parent!.children.delete(node.stream);
  }
}

function evictable(node: RadixNode): boolean {
  return node.locks === 0 && node.onDevice && node.deviceChildren === 0;
}

/** Nodes that only the host holds, least recently used first. */
function hostOnly(tree: RadixTree): RadixNode[] {
  return [...tree.nodes()]
    .filter((node) => !node.onDevice && node.locks === 0)
    .toSorted((a, b) => a.access - b.access || b.id - a.id);
}
