/**
 * Laws after a crash: no acknowledged request is lost, nothing happened twice or
 * unseen, every answer is kept, and the ledger's laws hold.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import postgres from "postgres";
import type { EmbeddedPostgres } from "../../../db/embedded/embedded.ts";
import { INVARIANTS } from "../../properties/invariants.ts";
import { until } from "../../support/eventually.ts";
import { type Acknowledged, insist, type Load } from "./clients.ts";
import type { CrashRealm, Serving } from "./service.ts";

const REPLAYED = 300;

/** Kills the postmaster; its supervisor starts another one, which recovers. */
export async function killServer(server: EmbeddedPostgres): Promise<void> {
  const { pid } = server;
  Deno.kill(pid, "SIGKILL");
  await until(() => server.pid !== pid, 5);
}

/** Checks that the ledger holds exactly the acknowledged requests, and keeps its laws. */
export async function assertWhole(
  server: Pick<EmbeddedPostgres, "superuserUrl">,
  realm: CrashRealm,
  load: Pick<Load, "acknowledged">,
): Promise<void> {
  await using sql = connect(server);
  const [{ schema }] = await sql<{ schema: string }[]>`
    select schema_name as schema from platform.realms where id = ${realm.schema}`;
  await sql.unsafe(`set search_path to "${schema}"`);
  const told = load.acknowledged.flatMap(transactionsOf);
  equal(new Set(told).size, told.length, "no transaction was told to two");
  const rows = await sql<{ id: string }[]>`select id from transactions where type <> 'issue'`;
  const there = new Set(rows.map(({ id }) => id));
  deepEqual(told.filter((id) => !there.has(id)), [], "nothing acknowledged is lost");
  equal(there.size, told.length, "nothing happened that nobody was told of");
  const blocks = load.acknowledged.filter(({ path, status }) =>
    path.endsWith("/blocks") && status === 201
  );
  const [{ count }] = await sql`select count(*)::int as count from blocks`;
  equal(count, blocks.length, "as many blocks as were acknowledged");
  for (const [law, query] of Object.entries(INVARIANTS)) {
    deepEqual([...await sql.unsafe(query)], [], law);
  }
  ok(load.acknowledged.some(({ status }) => status >= 400), "refusals were among the answers");
}

/** Checks that callers had to repeat something: a kill that nobody feels proves little. */
export function assertFelt(load: Pick<Load, "stats">): void {
  ok(load.stats.repeats > 0, "kills were felt");
}

/** Repeats requests and checks that each gets its earlier answer. */
export async function assertKept(
  service: Serving,
  realm: CrashRealm,
  load: Pick<Load, "acknowledged">,
): Promise<void> {
  const chosen = load.acknowledged.toSorted(() => Math.random() - 0.5).slice(0, REPLAYED);
  const stats = { repeats: 0, replays: 0 };
  for (const one of chosen) {
    const { status, text } = await insist(service, realm.key, one, stats);
    deepEqual({ status, text }, { status: one.status, text: one.text });
  }
  equal(stats.replays, chosen.length, "each is told to be a repeat");
}

/** The transactions that an answer tells of. */
function transactionsOf({ path, status, text }: Acknowledged): string[] {
  if (status >= 400 || path.endsWith("/blocks")) return [];
  const body = JSON.parse(text);
  if (!path.endsWith("/batch")) return [body.id];
  return body.results.flatMap((one: { status: unknown; id: string }) =>
    one.status === "DONE" ? [one.id] : []
  );
}

/** Connects as the superuser. */
export function connect(
  server: Pick<EmbeddedPostgres, "superuserUrl">,
): postgres.Sql & AsyncDisposable {
  const sql = postgres(server.superuserUrl, { max: 1, onnotice: () => {} });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) });
}
