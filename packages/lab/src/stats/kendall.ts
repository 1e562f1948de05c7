/** Kendall's tau-b of two rankings of the same things, ties counted; NaN when one of them ranks nothing. */
export function kendall(a: readonly number[], b: readonly number[]): number {
  let [agree, tiedA, tiedB, all] = [0, 0, 0, 0];
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < i; j++) {
      const [x, y] = [Math.sign(a[i]! - a[j]!), Math.sign(b[i]! - b[j]!)];
      all += 1;
      agree += x * y;
      if (x === 0) tiedA += 1;
      if (y === 0) tiedB += 1;
    }
  return agree / Math.sqrt((all - tiedA) * (all - tiedB));
}
