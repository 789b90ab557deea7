/** Routes of an account's history: entries, balances at a time and over time, statements. @module */
import { z } from "zod";
import { findAccount } from "../domain/accounts/accounts.ts";
import { reachesRealm } from "../domain/actor.ts";
import type { Db } from "../domain/command.ts";
import {
  BalanceAt,
  balanceAt,
  BalanceAtView,
  CSV_HEAD,
  EntryView,
  listEntries,
  openStatement,
  printCsv,
  printJson,
  StatementOf,
  StatementView,
} from "../domain/ledger/entries.ts";
import {
  BalancesOf,
  balancesOver,
  BalancesView,
  openBalances,
} from "../domain/ledger/balance_history.ts";
import {
  EntryExport,
  type EntryExportPlan,
  entrySlice,
  openEntryExport,
} from "../domain/ledger/entry_export.ts";
import { mayReadAccount, notFound } from "../domain/permissions.ts";
import { readEarly } from "./http/early_reads.ts";
import { readerOf, type ReadPart, sendExport, streamOf } from "./http/exports.ts";
import { pageView } from "./http/collection_routes.ts";
import { inListTurn, query, queryInSteps } from "./http/execution.ts";
import { openParts, withHeaders } from "./http/replica_reads.ts";
import { openPlaces, type StreamPlace } from "./http/stream_places.ts";
import { acceptsJson } from "./http/validation.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Accounts";
const takePlace = openPlaces({ kind: "statements", ofUser: 100, ofRealm: 500, ofHouse: 50 });

/** The routes of an account's history. */
export const entryRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/accounts/{id}/entries",
    tag: TAG,
    summary: "List the entries of an account",
    description: "Oldest first, or newest first with `sort=-created_at`; `from` and `to` are " +
      "milliseconds since the epoch, both included. `after` follows entries while they arrive. As " +
      "CSV it is an export, oldest first, of at most 400 days: it takes `from` and `to`, and no page.",
    access: "user",
    params: ById,
    query: EntryExport,
    status: 200,
    answer: pageView(EntryView),
    alternatives: ["text/csv"],
    continues: { cursor: "seq" },
    mayLag: true,
    errors: ["account.not_found", "time.archived", "rate.limited"],
    handle: async (call) => {
      const { format = acceptsJson(call.accept) ? "json" : "csv", ...given } = call.query;
      const asked = { ...given, account: call.params.id };
      if (format === "json") {
        const check = (db: Db) => findAccount(db, call.actor, asked.account);
        return await inListTurn(
          call,
          () => query(call, (db) => listEntries(db, call.actor, asked), check),
        );
      }
      return await sendExport(call, {
        what: "entries",
        open: (db) => openEntryExport(db, call.actor, asked),
        print: printEntries,
      });
    },
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/balance",
    tag: TAG,
    summary: "Read the balance of an account as it stood at a time",
    description: "It never changes afterwards. Of a time to come it is the present one, and `at` " +
      "is the present.",
    access: "user",
    params: ById,
    query: BalanceAt,
    status: 200,
    answer: BalanceAtView,
    errors: ["account.not_found", "time.archived"],
    handle: (call) =>
      query(call, (db) => balanceAt(db, call.actor, { ...call.query, account: call.params.id })),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/balances",
    tag: TAG,
    summary: "Read the balance of an account over time",
    description:
      "At up to 500 moments, evenly spaced from `from` to `to`. None of these balances " +
      "ever changes afterwards. What is asked of the future ends with the present.",
    access: "user",
    params: ById,
    query: BalancesOf,
    status: 200,
    answer: BalancesView,
    mayLag: true,
    errors: ["account.not_found", "time.archived"],
    handle: (call) =>
      queryInSteps(
        call,
        (db) => openBalances(db, call.actor, { ...call.query, account: call.params.id }),
        balancesOver,
      ),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/statement",
    tag: TAG,
    summary: "Read a statement of an account, as JSON or CSV",
    description:
      "`from` and `to` are milliseconds since the epoch, both included. A user has 100 statements " +
      "at once.",
    access: "user",
    params: ById,
    query: StatementOf,
    status: 200,
    answer: StatementView,
    alternatives: ["text/csv"],
    mayLag: true,
    errors: ["account.not_found", "time.archived", "rate.limited"],
    handle: sendStatement,
  }),
];

async function sendStatement(
  call: Call<{ id: string }, StatementOf, undefined>,
): Promise<Reply> {
  const { actor } = call;
  const place = takePlace(call.realm!.pool, { user: actor.user, isHouse: reachesRealm(actor) });
  try {
    return await openStream(call, place);
  } catch (error) {
    place.leave();
    throw error;
  }
}

async function openStream(
  call: Call<{ id: string }, StatementOf, undefined>,
  place: StreamPlace,
): Promise<Reply> {
  const asked = { ...call.query, account: call.params.id };
  const statement = await readEarly(call, (db) => openStatement(db, call.actor, asked));
  const { format = acceptsJson(call.accept) ? "json" : "csv" } = call.query;
  const csv = format === "csv";
  const parts = await openParts(call, call.realm!.pool);
  const read = readerOf(call, parts.read);
  const lines = (csv ? printCsv : printJson)(
    statement,
    (work) =>
      read(async (db, actor) => {
        if (!mayReadAccount(actor, statement.account.owner)) throw notFound("account.not_found");
        return await work(db);
      }),
  );
  const stream = streamOf(lines, { place });
  const file = `attachment; filename="statement-${statement.account.id}.csv"`;
  const type = { "content-type": "text/csv; charset=utf-8", "content-disposition": file };
  return withHeaders({ status: 200, body: "", stream }, { ...(csv ? type : {}), ...parts.headers });
}

async function* printEntries(plan: EntryExportPlan, read: ReadPart): AsyncGenerator<string> {
  yield CSV_HEAD;
  for (let first = plan.first; first <= plan.last;) {
    const begin = first;
    const { lines, next } = await read((db, actor) => entrySlice(db, actor, plan, begin));
    yield lines;
    first = next;
  }
}
