import { describe, expect, it } from "vitest";
import { plot, type Figure } from "./svg.ts";

const bars: Figure = {
  title: 'A < B & "C"',
  xLabel: "x",
  yLabel: "seconds",
  groups: ["one", "two"],
  level: 1,
  series: [
    {
      name: "p",
      points: [
        { x: 0, y: 10, low: 8, high: 12 },
        { x: 1, y: 20 },
      ],
    },
    { name: "q", points: [{ x: 1, y: 5 }] },
  ],
};
const attribute = (svg: string, element: string, name: string): number[] =>
  [...svg.matchAll(new RegExp(`<${element} [^>]*?\\b${name}="([^"]+)"`, "g"))].map(([, value]) => Number(value));

describe("the plotter", () => {
  it("escapes text and balances its elements", () => {
    const svg = plot(bars);
    expect(svg).toContain("A &lt; B &amp; &quot;C&quot;");
    expect(svg.match(/<text /g)!.length).toBe(svg.match(/<\/text>/g)!.length);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });
  it("draws bars as high as their figures, inside the picture", () => {
    const svg = plot(bars);
    const heights = attribute(svg, "rect", "height").filter((height) => height !== 12 && height !== 340);
    expect(heights[1]! / heights[0]!).toBeCloseTo(2, 1);
    expect(heights[0]! / heights[2]!).toBeCloseTo(2, 1);
    expect(Math.min(...attribute(svg, "rect", "y"))).toBeGreaterThanOrEqual(0);
  });
  it("draws lines from low to high x, with an interval bar where there is one", () => {
    const svg = plot({
      ...bars,
      groups: undefined as never,
      series: [
        {
          name: "p",
          points: [
            { x: 0.9, y: 4, low: 3, high: 5 },
            { x: 0.3, y: 2 },
          ],
        },
      ],
    });
    const [, points] = /points="([^"]+)"/.exec(svg)!;
    const xs = points!.split(" ").map((pair) => Number(pair.split(",")[0]));
    expect(xs[0]).toBeLessThan(xs[1]!);
    expect(svg.match(/<path /g)).toHaveLength(1);
  });
  it("survives an empty figure", () => expect(plot({ ...bars, series: [], groups: [] })).toContain("</svg>"));
});
