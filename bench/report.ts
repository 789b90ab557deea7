/** Prints the measurements as a table. @module */
import type { Load } from "./load.ts";
import { median, quantile } from "./processes.ts";
import type { BenchRealm } from "./stand.ts";
import type { YardstickRun } from "./yardstick.ts";

/** A line of the table: one run in every round, and what it is set against. */
export interface Row {
  name: string;
  load?: Load;
  /** The realm that is loaded, where it is not the one of all other rows. */
  realm?: BenchRealm;
  yardstick?: YardstickRun;
  /** Which row is its 1.0, where it is not the independent yardstick with 32 clients. */
  against?: string;
  /** The figure that must be reached, and the aim. */
  must?: number;
  aim?: number;
  /** Left out of `--quick`: no figure is asked of it, and no other row is set against it. */
  aside?: boolean;
  /** Microseconds of the service that a transfer may take. */
  serviceMax?: number;
  /** How often the 99th percentile may be the median, and how often it should be at most. */
  spread?: { must: number; aim: number };
}

/** Result of one run. Processor shares are in cores; cost is in microseconds a transfer. */
export interface Figures {
  rate: number;
  ratio: number;
  p50: number;
  p99: number;
  max: number;
  failed: number;
  service: number;
  postgres: number;
  cost: number;
  /** Lost races: repeats of the yardstick, rolled back transactions of the service. */
  lost: number;
}

/** How a table was measured. */
export interface Measured {
  generator: { name: string };
  yardsticks: { independent: { name: string } };
  rounds: number;
  seconds: number;
}

/** Gives the table of a run, with a line for each miss below it. */
export function show(rows: readonly Row[], rounds: readonly Figures[][], how: Measured): string {
  const head = ["run", "transfers/s", "ratio (quartiles)", "must", "aim", "p50 ms", "p99 ms"];
  const rest = [
    ...["max ms", "p99/p50", "service", "PostgreSQL", "us of service", "us of PostgreSQL"],
    "lost races",
  ];
  const misses: string[] = [];
  const lines = rows.map((row, i) => {
    const all = rounds.map((round) => round[i]);
    const of = (name: keyof Figures) => median(known(all.map((figures) => figures[name])));
    const ratios = known(all.map(({ ratio }) => ratio)).sort((a, b) => a - b);
    const spread = median(known(all.map(({ p50, p99 }) => p99 / p50)));
    const quartiles = ratios.length === 0
      ? "none"
      : [0.25, 0.75].map((share) => quantile(ratios, share).toFixed(2)).join(" to ");
    const without = all.length - ratios.length;
    if (without > 0) misses.push(`${row.name}: ${without} rounds without a result are left out`);
    const perTransfer = (share: "service" | "postgres") =>
      median(known(all.map((figures) => figures[share] / figures.rate))) * 1e6;
    const [service, postgres] = [perTransfer("service"), perTransfer("postgres")];
    misses.push(...missesOf(row, of("ratio"), { spread, service }));
    const cells = [
      row.name,
      String(Math.round(of("rate"))),
      `${of("ratio").toFixed(2)} (${quartiles})`,
      row.must?.toFixed(2) ?? "",
      row.aim?.toFixed(2) ?? "",
      of("p50").toFixed(2),
      of("p99").toFixed(1),
      of("max").toFixed(1),
      spread.toFixed(1),
      of("service").toFixed(2),
      of("postgres").toFixed(2),
      service.toFixed(1),
      postgres.toFixed(1),
      String(of("lost")),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const failed = rounds.flat().reduce((sum, of) => sum + of.failed, 0);
  return [
    `Medians of ${how.rounds} interleaved rounds of ${how.seconds} s; load by ${how.generator.name}, ` +
    `yardsticks by ${how.yardsticks.independent.name}; shares of the processor in cores; ` +
    `${failed} requests failed.`,
    "",
    `| ${[...head, ...rest].join(" | ")} |`,
    `|${[...head, ...rest].map((_, i) => i === 0 ? "---" : "--:").join("|")}|`,
    ...lines,
    "",
    ...misses,
  ].join("\n");
}

/** The figures that there are: a round may have ended without a result. */
function known(figures: number[]): number[] {
  return figures.filter(Number.isFinite);
}

/** Says which figure a row misses: the one it must reach, or the aim. */
function missesOf(
  row: Row,
  ratio: number,
  { spread, service }: { spread: number; service: number },
): string[] {
  const found: string[] = [];
  if (row.serviceMax !== undefined && service > row.serviceMax) {
    found.push(
      `${verdictOf(false)}: ${row.name}: ${
        service.toFixed(1)
      } us of service, must ${row.serviceMax}`,
    );
  }
  if (row.must !== undefined) {
    const verdict = verdictOf(ratio >= row.must, row.aim === undefined || ratio >= row.aim);
    if (verdict !== null) {
      found.push(`${verdict}: ${row.name}: ${ratio.toFixed(2)}, must ${row.must}, aim ${row.aim}`);
    }
  }
  if (row.spread !== undefined) {
    const { must, aim } = row.spread;
    const verdict = verdictOf(spread <= must, spread <= aim);
    if (verdict !== null) {
      found.push(`${verdict}: ${row.name}: p99/p50 ${spread.toFixed(1)}, must ${must}, aim ${aim}`);
    }
  }
  return found;
}

/** Says of a figure that it misses; null where it reaches its aim. */
export function verdictOf(must: boolean, aim = true): string | null {
  return !must ? "**MISSED**" : aim ? null : "below the aim";
}
