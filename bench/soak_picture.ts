/**
 * Draws the samples of a long run, JSON on standard input, into the SVG file that is named. Run with the packages of
 * tests. @module
 */
import { LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Sample } from "./soak.ts";

/** One diagram below the other, each with its lines. */
const DIAGRAMS: { title: string; lines: Partial<Record<keyof Sample, string>> }[] = [
  { title: "Transfers a second", lines: { rate: "transfers" } },
  { title: "Times of transfers, ms", lines: { p50: "median", p99: "99th percentile" } },
  {
    title: "Memory, MiB",
    lines: { serving: "serving half", working: "working half", postgres: "PostgreSQL" },
  },
  { title: "Accounts with indexes, MiB", lines: { accounts: "accounts" } },
  { title: "Commits not yet in the hash chain", lines: { unlinked: "commits" } },
];
const WIDTH = 800;
const HEIGHT = 200;
const TOP = 44;
const BETWEEN = 30;

/** Draws a picture of samples. */
export function drawSoak(samples: readonly Sample[]): string {
  use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);
  const size = { width: WIDTH, height: HEIGHT * DIAGRAMS.length };
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  const last = DIAGRAMS.length - 1;
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff",
    title: DIAGRAMS.map(({ title }, i) => ({
      text: title,
      top: i * HEIGHT + 8,
      left: 8,
      textStyle: { fontSize: 14 },
    })),
    legend: DIAGRAMS.map(({ lines }, i) => ({
      data: Object.values(lines),
      show: Object.keys(lines).length > 1,
      top: i * HEIGHT + 8,
      right: 8,
    })),
    grid: DIAGRAMS.map((_, i) => ({
      top: i * HEIGHT + TOP,
      height: HEIGHT - TOP - BETWEEN,
      left: 64,
      right: 24,
    })),
    xAxis: DIAGRAMS.map((_, gridIndex) => ({
      gridIndex,
      type: "value",
      max: samples[samples.length - 1].minute,
      axisLabel: { formatter: gridIndex === last ? "{value} min" : "{value}", showMaxLabel: false },
    })),
    yAxis: DIAGRAMS.map((_, gridIndex) => ({ gridIndex, type: "value", min: 0 })),
    series: DIAGRAMS.flatMap(({ lines }, i) =>
      Object.entries(lines).map(([column, name]) => ({
        name,
        type: "line" as const,
        xAxisIndex: i,
        yAxisIndex: i,
        showSymbol: false,
        lineStyle: { width: 1.5 },
        data: samples.map((sample) => [sample.minute, sample[column as keyof Sample]]),
      }))
    ),
  });
  const drawn = chart.renderToSVGString();
  chart.dispose(); // its clock would keep the process alive
  return drawn;
}

if (import.meta.main) {
  const samples = await new Response(Deno.stdin.readable).json();
  await Deno.writeTextFile(Deno.args[0], `${drawSoak(samples)}\n`);
}
