/**
 * Minutes of a fresh installation: in the first nothing has been analyzed yet, plans were made on empty tables, and no
 * WAL segment is there to be used again; in the fifth it is as old as `--minutes` says. @module
 */
import { openProgress } from "../progress.ts";
import { type Field, measure } from "./measure.ts";
import { median } from "./processes.ts";
import { type Figures, verdictOf } from "./report.ts";
import { BASE, rowsOf } from "./rows.ts";
import { meanOf, printStatements, type Shares, watchStatements } from "./statements.ts";

/** How often sessions are read: seldom, because what is measured shares the machine. */
const WATCHED_MS = 250;
/** Enough for seven turns of both. */
const LATER_S = 42;

/** Transfers in turns with the yardstick, from now on for so long. @param when names that time */
export async function measureMinute(
  field: Field,
  when: string,
  lengthS: number,
  seconds: number,
): Promise<void> {
  const rows = rowsOf(seconds, field.realm);
  const base = rows.find(({ name }) => name === BASE)!;
  const single = rows.find(({ name }) => name === "single, uniform, 256")!;
  const found: Figures[] = [];
  const shares: Shares[] = [];
  for (const until = performance.now() + lengthS * 1000; performance.now() < until;) {
    const { rate } = await measure(field, base, [field.service]);
    // Nobody asks the service for anything in the yardstick's turns, which would halve each share.
    await using watch = watchStatements(field, WATCHED_MS);
    const figures = await measure(field, single, [field.service]);
    shares.push(await watch.end());
    found.push({ ...figures, ratio: figures.rate / rate });
  }
  const of = (name: keyof Figures) => median(found.map((figures) => figures[name]));
  const ratio = of("ratio");
  console.log(
    `${when} of a fresh installation, ${single.name}: ` +
      `${Math.round(of("rate"))}/s, ${ratio.toFixed(2)} of the independent yardstick ` +
      `(must ${single.must}), ` +
      `p50 ${of("p50").toFixed(1)} ms, p99 ${of("p99").toFixed(1)} ms, ` +
      `max ${Math.max(...found.map(({ max }) => max)).toFixed(1)} ms, ` +
      `${found.length} rounds of ${seconds} s ` +
      (verdictOf(ratio >= single.must!, ratio >= single.aim!) ?? ""),
  );
  printStatements(meanOf(shares), "in its turns");
}

/** Keeps an installation busy until its minute of that number begins, and measures in that minute. */
export async function measureLaterMinute(
  field: Field,
  bornAt: number,
  number: number,
  seconds: number,
): Promise<void> {
  await age(field, bornAt, number - 1);
  await measureMinute(field, `minute ${number}`, LATER_S, seconds);
}

/** Keeps an installation busy until it is so old. */
export async function age(field: Field, bornAt: number, minutes: number): Promise<void> {
  const load = { connections: 32, how: "uniform", many: 1, seconds: 5 } as const;
  const leftMs = () => bornAt + minutes * 60_000 - performance.now();
  const progress = openProgress();
  progress.part("Ageing", Math.max(0, Math.ceil(leftMs() / (load.seconds * 1000))), "runs");
  while (leftMs() > 0) {
    await field.generator.run(field.service.port, field.realm, load);
    progress.add(1);
  }
  progress.end();
}
