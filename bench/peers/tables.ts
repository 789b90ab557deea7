/** The tables of a comparison, as docs/operations/performance.md shows them. @module */
import { median } from "../processes.ts";
import type { Cell, Found, How } from "./rounds.ts";

const HEAD =
  "| | load | of Purser's rate | ratio to the yardstick | transfers/s | p50 ms | p99 ms | CPU ms each | WAL B each | tables B each | failed |\n" +
  "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|";
const MEMORY_HEAD =
  "| MiB resident, without PostgreSQL | before its first load | after a load | at most |\n" +
  "|---|--:|--:|--:|";

/** Gives medians of all rounds, with the least and the greatest where rounds differ most. */
export function tablesOf(
  { cells, memory, yardstick, rounds }: Omit<Found, "unbalanced">,
  { seconds, connections, accounts, conditions }: Pick<How, "seconds" | "connections"> & {
    accounts: number;
    conditions: string;
  },
): string {
  const base = spread(yardstick, (value) => value.toFixed(0));
  const lines = [
    `Medians of ${rounds} rounds of ${seconds} s, ${connections} connections, ${accounts} accounts; ${conditions}, ${base}/s.`,
    ...["", HEAD],
    ...[...cells].map(([row, all]) => `| ${row} | ${cellsOf(all).join(" | ")} |`),
  ];
  for (const [row, all] of cells) {
    const acknowledged = median(all.map((cell) => cell.acknowledged));
    if (acknowledged > 0) {
      lines.push("", `${row.replace(" | ", ", ")}: ${acknowledged.toFixed(0)}/s acknowledged`);
    }
  }
  lines.push("", MEMORY_HEAD);
  for (const [name, turns] of memory) {
    const after = median(turns.map((turn) => turn.after));
    if (after === 0) continue; // it has no process
    const peak = Math.max(...turns.map((turn) => turn.peak));
    const shown = [turns[0].before, after, peak].map((mib) => mib.toFixed(0));
    lines.push(`| ${name} | ${shown.join(" | ")} |`);
  }
  return lines.join("\n");
}

function cellsOf(all: readonly Cell[]): (string | number)[] {
  const of = (figure: keyof Cell) => all.map((cell) => cell[figure]);
  return [
    spread(of("ofPurser"), significant),
    spread(of("ratio"), significant),
    median(of("rate")).toFixed(0),
    shown(median(of("p50")), 1),
    shown(median(of("p99")), 0),
    significant(median(of("cost"))),
    median(of("wal")).toFixed(0),
    median(of("bytes")).toFixed(0),
    of("failed").reduce((sum, failed) => sum + failed, 0),
  ];
}

/** The median, and the least and the greatest where there are several. */
function spread(values: readonly number[], show: (value: number) => string): string {
  const middle = show(median(values));
  const [least, greatest] = [show(Math.min(...values)), show(Math.max(...values))];
  return least === greatest ? middle : `${middle} (${least} to ${greatest})`;
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? "" : value.toFixed(digits);
}

/** Two digits that say something. */
function significant(value: number): string {
  return value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : 1);
}
