/** Repeated work of each realm and of the installation, with its intervals. @module */
import type { Pool, Tx } from "../../db/database.ts";
import { compactRowCounts } from "../../db/collections/collection.ts";
import { deleteOldChainSamples, insertChainSamples } from "../../db/chains/chain_samples.ts";
import { deleteOldSamples } from "../../db/audit/solvency_samples.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import {
  deleteOldAttempts,
  deleteOldPlatformAnswers,
  deleteOldRevocations,
} from "../../db/housekeeping.ts";
import { deleteOldJobs } from "../../db/jobs.ts";
import type { Migrations } from "../../db/migrate.ts";
import { deleteOldRescans } from "../../db/deposits/rescans.ts";
import { deleteOldAnswers } from "../../db/kept_answers.ts";
import { deleteOldLogins } from "../../db/records.ts";
import { replaceRealmFaults } from "../../db/realms/installation.ts";
import { deleteExpiredSigningKeys } from "../../db/realms/realms.ts";
import { selectSeedNeeded } from "../../db/security/secrets.ts";
import { selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import { locking, reading, writing } from "../../db/transaction.ts";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import { keepMeasurement } from "../../domain/realms/measurements.ts";
import { noteSettings } from "../../domain/realms/realm_events.ts";
import { copyRates, keepRates, spreadRates } from "../../domain/realms/rate_copies.ts";
import { checkSolvency } from "../audit/solvency.ts";
import { attestRealm } from "../installation/attestation.ts";
import { SEARCH_MS, searchCoins } from "../scanning/utxo_search.ts";
import { endLost } from "../people/sync.ts";
import { followExchanges } from "../exchanges/checks.ts";
import { sendWaiting } from "../messages/sending.ts";
import { refreshFees } from "../sending/fee_quotes.ts";
import { reviveForgotten } from "../sending/sender.ts";
import { forgetEvents } from "../../db/events.ts";
import { idBound } from "../../domain/ids.ts";
import { keptMs } from "../../domain/webhooks/event_log.ts";
import { tellIncidents } from "../webhooks/incidents.ts";
import { cutParts } from "./parts.ts";
import type { Price, RatesGateway } from "../gateways/rates.ts";
import type { WorkerContext, WorkerDependencies } from "../worker_context.ts";
import { renewOldAnswers } from "./kept_answers.ts";

/** Dependencies of repeated work, besides a realm's context. */
export interface RepeatDependencies extends WorkerDependencies {
  /** Null: an administrator sets the rates by hand. */
  rates: RatesGateway | null;
  /** The schema of this version; realms that could not be migrated at the start are tried again. */
  migrations?: Migrations;
  /** Rows of stored answers from which they end as a whole table. Unset: all are deleted row by row. */
  answerGenerationRows?: number;
  /** Transactions from which on the newest part of a ledger is ended; unset: never. */
  partRows?: number;
  /** Id of the only realm to work in; null: all. */
  only: string | null;
  /** Aborted when the process ends. */
  signal: AbortSignal;
  /** Per realm, the time of the newest platform rate that this process copied into it. */
  ratesUpTo: Map<string, number>;
}

/** One piece of repeated work. */
export interface Repeat<P> {
  name: string;
  everyMs: number;
  /** Length of the lease: the process that holds it does the work for all. */
  leaseMs: number;
  run(at: P, given: RepeatDependencies): Promise<void>;
}

/** Rows that one statement deletes. */
const PURGE_SLICE = 20_000;
const HOUR_MS = 3_600_000;
/** Days that rescans are kept. */
const RESCANS_DAYS = 90;

/** Repeated in every realm. */
export const REALM_REPEATS: readonly Repeat<WorkerContext>[] = [
  { name: "copy rates", everyMs: 60_000, leaseMs: 60_000, run: copyRealmRates },
  {
    name: "refresh fees",
    everyMs: 20_000,
    leaseMs: 60_000,
    run: (context) => refreshFees(context),
  },
  { name: "check solvency", everyMs: 60_000, leaseMs: 120_000, run: checkSolvency },
  { name: "sample chains", everyMs: 60_000, leaseMs: 60_000, run: sampleChains },
  { name: "revive orders", everyMs: 300_000, leaseMs: 60_000, run: reviveForgotten },
  { name: "send waiting messages", everyMs: 60_000, leaseMs: 60_000, run: sendWaitingMessages },
  { name: "follow exchanges", everyMs: 15_000, leaseMs: 60_000, run: followReachedExchanges },
  { name: "sum row counts", everyMs: 60_000, leaseMs: 60_000, run: sumRowCounts },
  {
    name: "note settings",
    everyMs: 60_000,
    leaseMs: 60_000,
    run: ({ realm, pool }, { database }) => noteSettings(database.platform, { id: realm.id, pool }),
  },
  { name: "purge expired", everyMs: 3_600_000, leaseMs: 600_000, run: purgeRealm },
  {
    name: "attest",
    everyMs: 15_000,
    leaseMs: 60_000,
    run: (context, { database }) => attestRealm(context, database.platform),
  },
  { name: "report faults", everyMs: 15_000, leaseMs: 60_000, run: reportFaults },
  {
    name: "measure",
    everyMs: 15_000,
    leaseMs: 60_000,
    run: ({ realm, pool }, { database }) =>
      keepMeasurement(database.platform, { id: realm.id, pool }),
  },
  { name: "end lost syncs", everyMs: 60_000, leaseMs: 60_000, run: endLost },
  { name: "tell incidents", everyMs: 60_000, leaseMs: 60_000, run: tellIncidents },
  { name: "ensure seed", everyMs: 3_600_000, leaseMs: 60_000, run: ensureSeed },
];

/** Repeated in every realm by a loop of its own, because a node, or the proof of a large part, may take many minutes. */
export const SLOW_REPEATS: readonly Repeat<WorkerContext>[] = [
  { name: "cut parts", everyMs: 600_000, leaseMs: 2 * 3_600_000, run: cutLargeParts },
  { name: "search coins", everyMs: SEARCH_MS, leaseMs: 2 * 3_600_000, run: searchCoins },
];

/** Repeated once for the installation. */
export const PLATFORM_REPEATS: readonly Repeat<Pool>[] = [
  { name: "fetch rates", everyMs: 300_000, leaseMs: 60_000, run: fetchRates },
  { name: "purge expired", everyMs: 3_600_000, leaseMs: 600_000, run: purgePlatform },
  { name: "migrate realms", everyMs: 60_000, leaseMs: 600_000, run: migrateRemaining },
];

/** Reports to the platform which chains of the realm are in quarantine, and whether its seed is gone. */
async function reportFaults(
  { realm, pool }: WorkerContext,
  given: RepeatDependencies,
): Promise<void> {
  const places = await reading(pool, selectQuarantinedPlaces);
  const seedless = await reading(pool, selectSeedNeeded);
  const missing = { chain: "", network: "", detail: "the realm has addresses and no seed" };
  await locking(given.database.platform, async (tx) => {
    await replaceRealmFaults(tx, { realm: realm.id, code: "chain.quarantined" }, places);
    await replaceRealmFaults(
      tx,
      { realm: realm.id, code: "seed.missing" },
      seedless ? [missing] : [],
    );
  });
}

async function sendWaitingMessages(context: WorkerContext): Promise<void> {
  await sendWaiting(context);
}

async function followReachedExchanges(context: WorkerContext): Promise<void> {
  if (context.exchanges !== undefined) await followExchanges(context);
}

async function copyRealmRates(
  { realm, pool }: WorkerContext,
  given: RepeatDependencies,
): Promise<void> {
  const after = given.ratesUpTo.get(realm.id) ?? 0;
  given.ratesUpTo.set(realm.id, await copyRates(given.database.platform, pool, after));
}

async function sumRowCounts({ pool }: WorkerContext): Promise<void> {
  await locking(pool, compactRowCounts);
}

async function sampleChains({ pool, actor }: WorkerContext): Promise<void> {
  await writing(pool, (db) => insertChainSamples(db, actor.at));
}

async function cutLargeParts(context: WorkerContext, given: RepeatDependencies): Promise<void> {
  if (given.partRows !== undefined) await cutParts(context, { rowsMax: given.partRows });
}

/** Makes a realm's seed moments after the realm, long before its first address is needed. */
async function ensureSeed({ realm, pool, signer }: WorkerContext): Promise<void> {
  await signer.ensureSeed({ realm: realm.id, pool });
}

async function purgeRealm(
  { pool, actor, log, realm }: WorkerContext,
  { signal, answerGenerationRows = Number.MAX_SAFE_INTEGER }: RepeatDependencies,
): Promise<void> {
  // An hour late, so that a reader whose cursor was accepted finds what follows it.
  const before = idBound(actor.at - keptMs(actor.realm.eventDays) - HOUR_MS);
  await purge(pool, (tx, limit) => forgetEvents(tx, before, limit), signal);
  const rescanned = idBound(actor.at - RESCANS_DAYS * 24 * HOUR_MS);
  await purge(pool, (tx, limit) => deleteOldRescans(tx, rescanned, limit), signal);
  const removals = [
    ...[deleteOldLogins, deleteOldSamples, deleteOldChainSamples],
    ...[deleteOldJobs, deleteOldRevocations, deleteOldAttempts],
  ];
  for (const remove of removals) await purge(pool, remove, signal);
  const { renewal, byRow } = await renewOldAnswers(pool, answerGenerationRows, signal);
  if (renewal !== null) log("info", "old answers left as a whole", { realm: realm.id, renewal });
  if (byRow) await purge(pool, deleteOldAnswers, signal);
}

async function purgePlatform(platform: Pool, { signal }: RepeatDependencies): Promise<void> {
  await purge(platform, deleteOldPlatformAnswers, signal);
  await locking(platform, deleteExpiredSigningKeys);
}

/** Deletes in slices, each in a transaction of its own, so that no backlog is too large. */
async function purge(
  pool: Pool,
  remove: (tx: Tx, limit: number) => Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  let removed: number;
  do removed = await locking(pool, (tx) => remove(tx, PURGE_SLICE)); while (
    removed > 0 && !signal.aborted
  );
}

async function migrateRemaining(_: Pool, given: RepeatDependencies): Promise<void> {
  const { database, migrations, log } = given;
  if (migrations !== undefined) await migrateRealms(database, migrations, log);
}

async function fetchRates(platform: Pool, given: RepeatDependencies): Promise<void> {
  if (given.rates === null) return;
  const at = await reading(platform, selectDatabaseTime);
  const { prices, contradicted } = await given.rates.fetchPrices(given.signal, at);
  warnOfPrices(given, "prices that others of their answer contradict are not taken", contradicted);
  const rates = prices.map((price) => ({ ...price, source: "market", owner: null }));
  const kept = await keepRates(platform, rates);
  const known = new Set(kept.map(({ base, currency }) => `${base}/${currency}`));
  const far = rates.filter(({ base, currency }) => !known.has(`${base}/${currency}`));
  warnOfPrices(given, "prices far from the last ones are not taken", far);
  await spreadRates(given.database, kept, given.only);
}

/** Logs prices that are not taken: the first one, and how many there are beside it. */
function warnOfPrices(
  { log }: Pick<RepeatDependencies, "log">,
  message: string,
  [first, ...others]: readonly Price[],
): void {
  if (first === undefined) return;
  const { base, currency, rate } = first;
  log("warn", message, { pair: `${base}/${currency}`, rate, others: others.length });
}
