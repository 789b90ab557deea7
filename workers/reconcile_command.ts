/** The command `reconcile`: what an operator runs after a restore, and how it is answered. @module */
import { parseArgs } from "node:util";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { serializable } from "../db/transaction.ts";
import { newId } from "../domain/ids.ts";
import { placeOf } from "../domain/realms.ts";
import type { Log } from "../log.ts";
import { compareRealm } from "./attestation.ts";
import { type Bench, workerActor } from "./bench.ts";
import { openChains } from "./chains/registry.ts";
import { claimEpoch, lookAtInstallation } from "./fence.ts";
import { allRealms, haltRealms } from "./halts.ts";
import { type PlaceReport, type Question, reconcileRealm } from "./reconcile.ts";
import { openSigner } from "./signer.ts";

/** What the command works with. */
export interface ReconcileSite {
  config: Config;
  database: Database;
  log: Log;
  masterKey: string;
  /** Prints a line for the operator. */
  print: (text: string) => void;
  /** Asks the operator yes or no; null where nobody is there. */
  confirm: ((text: string) => boolean) | null;
}

/** What was found in a realm. */
export interface RealmReport {
  realm: string;
  name: string;
  places: PlaceReport[];
  fault: string | null;
}

/** How the command is called. */
export const RECONCILE_USAGE: string =
  "usage: reconcile [--list] [--paid <withdrawal>]… [--unpaid <withdrawal>]…" +
  " [--gap 10000] [--back 5000], or reconcile --join";

const FLAGS = {
  list: { type: "boolean" },
  join: { type: "boolean" },
  paid: { type: "string", multiple: true },
  unpaid: { type: "string", multiple: true },
  gap: { type: "string" },
  back: { type: "string" },
} as const;

/**
 * Reconciles every ramp in quarantine, and begins a new epoch when nothing is left open. With `--list`
 * the quarantine stays.
 */
export async function reconcileAll(
  site: ReconcileSite,
  args: readonly string[],
): Promise<{ realms: RealmReport[]; epoch: number | null; done: boolean }> {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  const { config, database, log } = site;
  const where = {
    platform: database.platform,
    dataDir: config.dataDir,
    label: config.installationEpoch,
  };
  if (values.join) {
    return { realms: [], epoch: await claimEpoch(where, "join"), done: true };
  }
  const { row, verdict } = await lookAtInstallation(where);
  const apart = verdict.state === "apart" || row.halted !== null;
  if (apart) {
    if (where.label !== null && where.label === row.label) {
      throw new TypeError("INSTALLATION_EPOCH must get another value before a reconciliation");
    }
    const detail = verdict.state === "apart" ? verdict.detail : row.halted!.detail;
    await haltRealms(database, log, detail);
  }
  const realms = await reconcileRealms(site, {
    apart,
    keep: values.list === true,
    gap: wholeOf(values.gap, 10_000),
    back: wholeOf(values.back, 5_000),
    answer: answerer(site, values),
  });
  const done =
    realms.every(({ fault, places }) => fault === null && places.every((o) => o.lifted)) &&
    !(apart && values.list);
  const epoch = done && apart ? await claimEpoch(where, "new") : null;
  return { realms, epoch, done };
}

async function reconcileRealms(
  site: ReconcileSite,
  options: Parameters<typeof reconcileRealm>[1],
): Promise<RealmReport[]> {
  const { config, database, log, masterKey } = site;
  const chains = openChains(config.chains);
  const reports: RealmReport[] = [];
  try {
    for await (const realm of allRealms(database)) {
      const pool = database.working(placeOf(realm));
      const at = Date.now();
      const bench: Bench = {
        ...{ realm, pool, log, chains },
        actor: workerActor(realm, newId(at), at),
        signer: openSigner(masterKey, Date.now),
        signal: new AbortController().signal,
        step: (work, how) => serializable(pool, work, how),
      } as Bench;
      const report = { realm: realm.id, name: realm.name, places: [], fault: null };
      try {
        await compareRealm(bench, database.platform);
        const places = await reconcileRealm(bench, options);
        if (places.length > 0) reports.push({ ...report, places });
      } catch (error) {
        // A realm whose database is away keeps no other from being reconciled.
        log("error", "a realm could not be reconciled", { realm: realm.id, error });
        const fault = error instanceof Error ? error.message : String(error);
        reports.push({ ...report, fault });
      }
    }
  } finally {
    chains.close();
  }
  return reports;
}

function answerer(
  site: ReconcileSite,
  values: { list?: boolean; paid?: string[]; unpaid?: string[] },
): (question: Question) => Promise<boolean | null> {
  const [paid, unpaid] = [new Set(values.paid), new Set(values.unpaid)];
  return ({ withdrawal, chain, destination, amount, created_at }) => {
    if (values.list) return Promise.resolve(null);
    if (paid.has(withdrawal)) return Promise.resolve(true);
    if (unpaid.has(withdrawal)) return Promise.resolve(false);
    if (site.confirm === null) return Promise.resolve(null);
    site.print(
      `withdrawal ${withdrawal} of ${new Date(created_at).toISOString()}: ${amount} base units on` +
        ` ${chain} to ${destination}. The chain shows no payment of it.`,
    );
    return Promise.resolve(site.confirm("Was it paid?"));
  };
}

function wholeOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,7}$/.test(text)) throw new TypeError(`${text} is no number. ${RECONCILE_USAGE}`);
  return Number(text);
}
