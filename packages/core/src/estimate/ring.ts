/** The last `RING` records of `stride` numbers each, as plain data; storage grows with use. */
export interface Ring {
  readonly stride: number;
  data: Float64Array;
  /** Records ever pushed: also the revision. Record k lies at slot k modulo the capacity. */
  seen: number;
}

export const RING = 512;
const FIRST = 4;

export function emptyRing(stride: number): Ring {
  return { stride, data: new Float64Array(0), seen: 0 };
}

export function ringSize(ring: Ring): number {
  return Math.min(ring.seen, RING);
}

/** Numbers of storage a push would add, so that callers can keep a bound. */
export function pushRing(ring: Ring, values: readonly number[]): number {
  const { stride } = ring;
  const before = ring.data.length;
  if (ring.seen < RING && (ring.seen + 1) * stride > before) {
    const data = new Float64Array(Math.min(RING, Math.max(FIRST, ring.seen * 2)) * stride);
    data.set(ring.data);
    ring.data = data;
  }
  const slot = (ring.seen % RING) * stride;
  for (let i = 0; i < stride; i++) ring.data[slot + i] = values[i]!;
  ring.seen += 1;
  return ring.data.length - before;
}

/** Overwrites one number of record `index` if the ring still holds it. */
export function patchRing(ring: Ring, index: number, field: number, value: number): void {
  if (index < 0 || index >= ring.seen || index < ring.seen - RING) return;
  ring.data[(index % RING) * ring.stride + field] = value;
}
