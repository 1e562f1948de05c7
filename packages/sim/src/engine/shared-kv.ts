import type { HostTier } from "../model/transfer.ts";
import { CopyChannel } from "../model/transfer.ts";
import type { Call } from "./call.ts";
import type { Machine } from "./machine.ts";
import type { RadixNode } from "./radix-node.ts";
import { RadixTree } from "./radix-tree.ts";

export interface SharedKvOptions {
  readonly evictWholeNodes: boolean;
  /** vLLM orders its free list by time of release, SGLang its leaves by time of last match. */
  readonly refreshOnRelease: boolean;
  readonly hostTier: HostTier;
  /** Host pool over device budget; SGLang's default is 2. */
  readonly hostRatio: number;
}

/** KV of an engine with its own prefix cache: free + cached + private = budget, always. */
export class SharedKv {
  readonly tree: RadixTree;
  readonly channel: CopyChannel;
  readonly machine: Machine;
  private readonly options: SharedKvOptions;

  constructor(machine: Machine, options: SharedKvOptions) {
    this.machine = machine;
    this.options = options;
    const hostTokens = options.hostTier === "none" ? 0 : options.hostRatio * machine.budgetTokens;
    this.tree = new RadixTree({ evictWholeNodes: options.evictWholeNodes, hostTokens });
    this.channel = new CopyChannel(machine.profile, options.hostTier);
  }

  freeTokens(): number {
    return this.machine.budgetTokens - this.tree.deviceTokens - this.machine.privateTokens;
  }

  /** Free now or by evicting what nobody uses. */
  availableTokens(): number {
    return this.freeTokens() + this.tree.evictableTokens;
  }

  /** Takes private tokens for a call; the caller has checked that they are available. */
  take(tokens: number): void {
    const short = tokens - this.freeTokens();
    if (short > 0) this.tree.evict(this.options.evictWholeNodes ? tokens : short);
    this.machine.privateTokens += tokens;
  }

  /** Locks the cached part of a call's path, at most `limit` tokens, and makes it the call's own start. */
  adopt(call: Call, limit: number): number {
    const match = this.tree.match(call.path, limit, !this.options.refreshOnRelease);
    this.tree.lock(match.node);
    call.node = match.node;
    call.locked = call.filled = match.tokens;
    if (call.copyNode !== null) this.tree.unlock(call.copyNode, false);
    call.copyNode = null;
    return match.tokens;
  }

  /**
   * With a host tier: starts the copy of what only the host holds of this path. Only the call itself waits for it (section 5).
   * `noRoom`: the whole call would not fit now beside what this step has `taken` and `promised`.
   */
  bringBack(call: Call, limit: number, atSeconds: number, taken = 0, promised = 0): "ready" | "copying" | "noRoom" {
    const { tree, machine } = this;
    if (this.options.hostTier === "none") return "ready";
    if (call.copiedSeconds > atSeconds) return "copying";
    const match = tree.match(call.path, limit);
    if (match.hostTokens === 0) return "ready";
    tree.lock(match.node);
    const fits = call.target - match.tokens <= this.availableTokens() - promised;
    if (fits) {
      const short = match.hostTokens + taken - this.freeTokens();
      if (short > 0) tree.evict(short);
      tree.toDevice(match.hostNode);
      tree.lock(match.hostNode);
      if (call.copyNode !== null) tree.unlock(call.copyNode, false);
      call.copyNode = match.hostNode;
      call.copiedSeconds = this.channel.copy(match.hostTokens, "toDevice", atSeconds);
      machine.listener.later(call.copiedSeconds, call.spec.id);
    }
    tree.unlock(match.node, false);
    return fits ? "copying" : "noRoom";
  }

  /** Nothing runs and nobody fits: what finished copies protect for waiting calls is given up. True: that made a difference. */
  dropCopies(waiting: readonly Call[], atSeconds: number): boolean {
    const done = waiting.filter((call) => call.copyNode !== null && call.copiedSeconds <= atSeconds);
    for (const call of done) {
      this.tree.unlock(call.copyNode!, false);
      call.copyNode = null;
    }
    return done.length > 0;
  }

  /** Undoes `adopt` of a call that is not admitted after all. */
  disown(call: Call): void {
    if (call.node !== null) this.tree.unlock(call.node, false);
    call.node = null;
    call.locked = call.filled = 0;
  }

  /** Puts the call's first `total` tokens into the cache, still locked; duplicates are freed. */
  publish(call: Call, total: number): void {
    if (total <= call.locked) return;
    const { node, existing } = this.tree.insert(call.path, total);
    if (this.options.hostTier !== "none" && total > existing)
      this.channel.copy(total - existing, "toHost", this.machine.nowSeconds);
    this.tree.lock(node);
    if (call.node !== null) this.tree.unlock(call.node, false);
    this.machine.privateTokens -= total - call.locked;
    call.node = node;
    call.locked = total;
  }

  /** The call leaves with `held` tokens: `cached` of them stay in the cache, the rest is free. */
  release(call: Call, held: number, cached: number): void {
    this.publish(call, cached);
    this.machine.privateTokens -= this.machine.roundUp(held) - call.locked;
    if (call.node !== null) this.tree.unlock(call.node, this.options.refreshOnRelease);
    call.node = null;
    call.locked = 0;
  }

  /** Books recomputed from the calls. `calls`: everything that holds KV. */
  check(calls: Iterable<Call>, stepInFlight: boolean, waiting: readonly Call[]): string[] {
    const { machine, tree } = this;
    const broken: string[] = [];
    let held = 0;
    const locks = new Map<object, number>();
    const protect = (call: Call, from: RadixNode | null): void => {
      for (let node = from; node !== null && node !== tree.root; node = node.parent) {
        locks.set(node, (locks.get(node) ?? 0) + 1);
        if (!node.onDevice) broken.push(`call ${call.spec.id} locks a node that is not resident`);
      }
    };
    for (const call of calls) {
      const growing = call.phase === "decode" && stepInFlight ? 1 : call.inFlight;
      held += machine.roundUp(machine.decode.heldOf(call) + growing) - call.locked;
      protect(call, call.node);
    }
    for (const call of waiting) protect(call, call.copyNode);
    let device = 0;
    let evictable = 0;
    for (const node of tree.nodes()) {
      if (node.locks !== (locks.get(node) ?? 0))
        broken.push(`node ${node.id} has ${node.locks} locks, counted ${locks.get(node) ?? 0}`);
      if (!node.onDevice) continue;
      device += node.tokens;
      if (node.locks === 0) evictable += node.tokens;
    }
    const expect = (name: string, actual: number, recomputed: number): void => {
      if (actual !== recomputed) broken.push(`${name} is ${actual}, recomputed ${recomputed}`);
    };
    expect("private tokens", machine.privateTokens, held);
    expect("cached tokens", tree.deviceTokens, device);
    expect("evictable tokens", tree.evictableTokens, evictable);
    if (this.freeTokens() < 0) broken.push(`free is ${this.freeTokens()}`);
    return broken;
  }
}
