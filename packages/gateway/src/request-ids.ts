import { createHmac, randomBytes } from "node:crypto";

/** Ids of one gateway: random prefix, counter, and a tag of the tenant, so that nobody can ask about a neighbour's call. */
export interface RequestIds {
  next(tenant: string): string;
  belongs(id: string, tenant: string): boolean;
}

/** Ids are unique whatever the clock's resolution (K54). */
export function createRequestIds(): RequestIds {
  const prefix = randomBytes(6).toString("hex");
  const secret = randomBytes(32);
  const tags = new Map<string, string>();
  let count = 0;
  const tag = (tenant: string): string => {
    let known = tags.get(tenant);
    if (known === undefined) {
      known = createHmac("sha256", secret).update(tenant).digest("hex").slice(0, 12);
      tags.set(tenant, known);
    }
    return known;
  };
  return {
    next: (tenant) => `${prefix}${(count++).toString(36)}-${tag(tenant)}`,
    belongs: (id, tenant) => id.endsWith(`-${tag(tenant)}`),
  };
}
