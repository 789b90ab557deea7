/** The rows of transfers, and how they are measured in rounds. @module */
import type { Load } from "./load.ts";
import { type Field, measure } from "./measure.ts";
import type { Figures, Row } from "./report.ts";
import type { Progress } from "../progress.ts";
import type { BenchRealm, Service } from "./stand.ts";

/** The row that is 1.0 for all that name no other. */
export const BASE = "independent yardstick, 32 clients";
const SINGLE = "independent yardstick, 1 client";

/** The rows, in the order of a round. @param large a realm with many accounts */
export function rowsOf(seconds: number, large: BenchRealm): Row[] {
  const load = (connections: number, how: Load["how"], many = 1) => ({
    connections,
    how,
    many,
    seconds,
  });
  const yardstick = (clients: number, how: Load["how"]) => ({
    of: "independent" as const,
    clients,
    how,
    seconds,
  });
  const spread = { must: 3, aim: 2 };
  return [
    { name: BASE, yardstick: yardstick(32, "uniform") },
    { name: "single, uniform, 32", load: load(32, "uniform"), must: 1.3, aim: 1.8, spread },
    {
      name: "single, uniform, 256",
      load: load(256, "uniform"),
      must: 2.2,
      aim: 3,
      serviceMax: 50,
    },
    { name: "single, hot, 32", load: load(32, "hot"), must: 1.3, aim: 1.8 },
    { name: "single, hot, 256", load: load(256, "hot"), must: 2.3, aim: 3.3 },
    {
      name: `single, ${large.accounts.length} accounts, 256`,
      load: load(256, "uniform"),
      realm: large,
      must: 1.8,
      aim: 2.5,
    },
    { name: "1000 a request, 4", load: load(4, "uniform", 1000), must: 4.5, aim: 6 },
    { name: SINGLE, yardstick: yardstick(1, "uniform") },
    {
      name: "single, one connection",
      load: load(1, "uniform"),
      against: SINGLE,
      must: 0.6,
      aim: 0.8,
    },
    { name: "independent yardstick, hot, 32", yardstick: yardstick(32, "hot"), aside: true },
    {
      name: "yardstick on the product's tables, 32",
      yardstick: { ...yardstick(32, "uniform"), of: "own" },
    },
  ];
}

/** The names of all rows, where the large realm has so many accounts. */
export function rowNames(accounts: number): string[] {
  const none = { id: "", schema: "", key: "", admin: "", application: "", realmKey: "", begun: 0 };
  return rowsOf(0, { ...none, accounts: Array(accounts).fill("") }).map(({ name }) => name);
}

/** Runs all rows once and sets each against its yardstick of this round. */
export async function round(
  field: Field & { progress: Progress },
  rows: Row[],
  services: Service[],
): Promise<Figures[]> {
  const found: Figures[] = [];
  for (const row of rows) {
    const figures = await measure(field, row, services);
    found.push(figures);
    const base = found[rows.findIndex(({ name }) => name === (row.against ?? BASE))];
    // A yardstick without a result says nothing of the others in its round.
    figures.ratio = base.rate > 0 ? figures.rate / base.rate : NaN;
    field.progress.add(1);
    field.progress.note(
      `  ${row.name}: ${Math.round(figures.rate)}/s, ${figures.ratio.toFixed(2)}` +
        (figures.failed > 0 ? `, ${figures.failed} failed` : ""),
    );
  }
  return found;
}
