/** Successors of every node. */
export type Links = Map<string, Set<string>>;

/** For every node, what can come after it; itself only if it lies on a cycle. */
export function reachOf(links: Links): Map<string, ReadonlySet<string>> {
  return new Map([...links.keys()].map((id) => [id, after(id, links)]));
}

function after(id: string, links: Links): Set<string> {
  const seen = new Set<string>();
  const open = [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const to of links.get(at) ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      open.push(to);
    }
  }
  return seen;
}

/** Groups of nodes that can all come back to each other. */
export function loopsOf(ids: readonly string[], reach: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const grouped = new Set<string>();
  const loops: string[][] = [];
  for (const id of ids) {
    if (grouped.has(id) || !reach.get(id)!.has(id)) continue;
    const members = ids.filter((other) => reach.get(id)!.has(other) && reach.get(other)!.has(id));
    members.forEach((member) => grouped.add(member));
    loops.push(members);
  }
  return loops;
}

/** The loop's stages as one lap visits them, beginning where the loop is entered. */
export function inOrder(members: readonly string[], links: Links): string[] {
  const inside = new Set(members);
  const entered = [...links].filter(([id]) => !inside.has(id)).flatMap(([, to]) => [...to]);
  const head = members.find((id) => entered.includes(id)) ?? members[0]!;
  const seen = new Set([head]);
  const done: string[] = [];
  const path = [{ id: head, left: [...links.get(head)!] }];
  while (path.length > 0) {
    const top = path.at(-1)!;
    const next = top.left.pop();
    if (next === undefined) done.push(path.pop()!.id);
    else if (inside.has(next) && !seen.has(next)) {
      seen.add(next);
      path.push({ id: next, left: [...links.get(next)!] });
    }
  }
  return done.toReversed();
}
