/** Prints what was measured as a table. @module */
import type { Load } from "./load.ts";
import type { YardstickRun } from "./yardstick.ts";

/** A line of the table: one run in every round, and what it is set against. */
export interface Row {
  name: string;
  load?: Load;
  yardstick?: YardstickRun;
  /** Which row is its 1.0, where it is not the yardstick with 32 clients. */
  against?: string;
  /** What must be reached, and what is aimed at. */
  must?: number;
  aim?: number;
}

/** What one run showed. Processor shares are in cores; cost is in microseconds a transfer. */
export interface Figures {
  rate: number;
  ratio: number;
  p50: number;
  p99: number;
  failed: number;
  service: number;
  postgres: number;
  cost: number;
  /** Lost races: repeats of the yardstick, rolled back transactions of the service. */
  lost: number;
}

/** Prints the table of a run. */
export function show(
  rows: readonly Row[],
  figures: readonly Figures[],
  how: {
    generator: { name: string };
    yardstick: { name: string };
    rounds: number;
    seconds: number;
  },
): string {
  const head = ["run", "transfers/s", "ratio", "must", "aim", "p50 ms", "p99 ms"];
  const rest = ["service", "PostgreSQL", "us each", "lost races"];
  const lines = rows.map((row, i) => {
    const of = figures[i];
    const cells = [
      row.name,
      String(Math.round(of.rate)),
      of.ratio.toFixed(2),
      row.must?.toFixed(2) ?? "",
      row.aim?.toFixed(2) ?? "",
      of.p50.toFixed(2),
      of.p99.toFixed(1),
      of.service.toFixed(2),
      of.postgres.toFixed(2),
      of.cost.toFixed(1),
      String(of.lost),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const failed = figures.reduce((sum, of) => sum + of.failed, 0);
  return [
    `Medians of ${how.rounds} rounds of ${how.seconds} s; load by ${how.generator.name}, yardstick ` +
    `by ${how.yardstick.name}; shares of the processor in cores; ${failed} requests failed.`,
    "",
    `| ${[...head, ...rest].join(" | ")} |`,
    `|${[...head, ...rest].map((_, i) => i === 0 ? "---" : "--:").join("|")}|`,
    ...lines,
    "",
  ].join("\n");
}
