/** Two processes beside one, and the cost of a transfer as the history grows. @module */
import type { Load } from "./load.ts";
import { openProgress } from "../progress.ts";
import { type Field, measure } from "./measure.ts";
import { median } from "./processes.ts";
import { type Figures, type Row, verdictOf } from "./report.ts";
import { countTransactions, startService } from "./stand.ts";

const PROCESSES_MUST = 0.75;
const GROWTH_MUST = 0.15;

/** Sets two processes beside one, in turns. */
export async function compareProcesses(field: Field, load: Load, times: number): Promise<void> {
  const second = await startService(field.stand);
  const rows: Record<string, Figures[]> = { one: [], two: [] };
  for (let i = 0; i < times; i++) {
    rows.one.push(await measure(field, { name: "one", load }, [field.service]));
    rows.two.push(await measure(field, { name: "two", load }, [field.service, second]));
  }
  await second.stop();
  const rate = (of: Figures[]) => median(of.map(({ rate }) => rate));
  const lost = rows.two.reduce((sum, figures) => sum + figures.lost, 0);
  const ratio = rate(rows.two) / rate(rows.one);
  console.log(
    `two processes, ${load.how}, ${load.connections}: ${Math.round(rate(rows.two))}/s, ` +
      `${ratio.toFixed(2)} of one process (must ${PROCESSES_MUST}), ` +
      `${lost} serialization failures (must 0) ` +
      (verdictOf(ratio >= PROCESSES_MUST && lost === 0) ?? ""),
  );
}

/** Measures the cost of a transfer when a tenth of so many are there, or more by then, and again when all are. */
export async function grow(
  field: Field,
  rows: { base: Row; row: Row },
  to: number,
  times: number,
): Promise<void> {
  const load = { connections: 4, how: "uniform", many: 1000, seconds: 3 } as const;
  const fill = async (count: number) => {
    let before = await countTransactions(field.stand, field.realm);
    const progress = openProgress();
    progress.part("Growing", count - before, "transactions");
    while (before < count) {
      await field.generator.run(field.service.port, field.realm, load);
      const now = await countTransactions(field.stand, field.realm);
      progress.add(now - before);
      before = now;
    }
    progress.end();
  };
  const at = async () => {
    const base: Figures[] = [], found: Figures[] = [];
    for (let i = 0; i < times; i++) {
      base.push(await measure(field, rows.base, [field.service]));
      found.push(await measure(field, rows.row, [field.service]));
    }
    const count = await countTransactions(field.stand, field.realm);
    const cost = median(found.map((figures) => figures.cost));
    const ratio = median(found.map((figures, i) => figures.rate / base[i].rate));
    return { count, cost, ratio };
  };
  await fill(to / 10);
  const few = await at();
  console.error(`  growing from ${few.count} to ${to} transactions`);
  await fill(to);
  const many = await at();
  const more = many.cost / few.cost - 1;
  console.log(
    `growth, ${few.count} → ${many.count} transactions: ${few.cost.toFixed(1)} → ` +
      `${many.cost.toFixed(1)} us of processor a transfer (${(more * 100).toFixed(0)} %, must ` +
      `${GROWTH_MUST * 100} %); ${few.ratio.toFixed(2)} → ${
        many.ratio.toFixed(2)
      } of the yardstick ` +
      (verdictOf(more <= GROWTH_MUST) ?? ""),
  );
}
