/**
 * The yardstick's client for machines without pgbench: one prepared call after another on each
 * connection, lost races repeated at once. Prints one line of JSON.
 *
 * @module
 */
import postgres from "postgres";
import type { Choice } from "./generator.ts";
import { quantile } from "./processes.ts";

const plan = JSON.parse(Deno.args[0]) as {
  url: string;
  schema: string;
  statement: string;
  accounts: number;
  clients: number;
  how: Choice;
  seconds: number;
};
const times: number[] = [];
let retries = 0;
const start = performance.now();
const until = start + plan.seconds * 1000;
await Promise.all(Array.from({ length: plan.clients }, client));
times.sort((a, b) => a - b);
console.log(JSON.stringify({
  requests: times.length,
  failed: 0,
  seconds: (performance.now() - start) / 1000,
  p50: quantile(times, 0.5),
  p99: quantile(times, 0.99),
  max: times.at(-1) ?? NaN,
  retries,
}));

async function client(): Promise<void> {
  const sql = postgres(plan.url, {
    max: 1,
    fetch_types: false,
    connection: { search_path: plan.schema, default_transaction_isolation: "serializable" },
  });
  const any = (n: number) => 1 + Math.floor(Math.random() * n);
  for (let now = performance.now(); now < until;) {
    let s = any(plan.accounts);
    let d = any(plan.accounts - 1);
    if (plan.how === "uniform") {
      if (d >= s) d++;
    } else {
      [s, d] = [d + 1, 1];
      if (plan.how === "hot" && Math.random() < 0.5) [s, d] = [d, s];
    }
    await call(sql, s, d);
    const then = now;
    now = performance.now();
    times.push(now - then);
  }
  await sql.end();
}

async function call(sql: postgres.Sql, s: number, d: number): Promise<void> {
  for (;;) {
    try {
      await sql.unsafe(plan.statement, [s, d], { prepare: true });
      return;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== "40001" && code !== "40P01") throw error;
      retries++;
    }
  }
}
