/**
 * Measurements of realms, for `/metrics`: workers count what is open in each realm, a scrape reads what they
 * counted last. So a scrape costs the same however many realms there are, and the serving half reads no realm.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import {
  measureEvents,
  type MeasurementRow,
  measureNetworks,
  measureRealm,
  replaceMeasurement,
  SAMPLES_MAX,
  selectMeasurementAge,
  selectMeasurements,
} from "../../db/realms/measurements.ts";
import { selectFaultCounts } from "../../db/realms/installation.ts";
import { locking, reading } from "../../db/transaction.ts";
import { findWaiting } from "./promotions.ts";

/** How the values of several realms become one. */
type Aggregate = "sum" | "max" | "min";

/** What is measured: the name, its explanation, and how the values of realms are put together. */
const MEASURED: Readonly<Record<string, { help: string; aggregate: Aggregate }>> = {
  purser_jobs: { help: "Jobs that wait, are due, run, or were given up.", aggregate: "sum" },
  purser_job_age_seconds: { help: "Age of the oldest due job.", aggregate: "max" },
  purser_chain_orders: { help: "Orders of transactions that have not ended.", aggregate: "sum" },
  purser_chain_order_age_seconds: {
    help: "Age of the oldest order of a transaction that has not ended.",
    aggregate: "max",
  },
  purser_withdrawals: { help: "Withdrawals that have not ended.", aggregate: "sum" },
  purser_withdrawal_age_seconds: {
    help: "Age of the oldest withdrawal that has not ended.",
    aggregate: "max",
  },
  purser_deposits: { help: "Deposits that are not credited yet.", aggregate: "sum" },
  purser_deposit_age_seconds: {
    help: "Age of the oldest deposit that is not credited yet.",
    aggregate: "max",
  },
  purser_solvency_drift: {
    help:
      "Balance on the chain less all that explains it, in the asset. Rounded: an alarm, no amount.",
    aggregate: "sum",
  },
  purser_solvency_solvent: { help: "1 where the asset is covered.", aggregate: "min" },
  purser_solvency_age_seconds: {
    help: "Time since the last comparison with the chain.",
    aggregate: "max",
  },
  purser_chain_height: { help: "Newest block that a node has shown.", aggregate: "max" },
  purser_chain_scanned_height: { help: "Last block that was scanned.", aggregate: "min" },
  purser_chain_lag_blocks: { help: "Blocks seen and not yet scanned.", aggregate: "max" },
  purser_chain_scan_age_seconds: { help: "Time since the last scan.", aggregate: "max" },
  purser_chain_healthy: {
    help: "0 where nodes were never reached, or something is in the way of reading them.",
    aggregate: "min",
  },
  purser_chain_halted: {
    help: "1 where nothing is credited until an operator acts.",
    aggregate: "max",
  },
  purser_ramps_quarantined: {
    help: "Ramps for which nothing is signed until they are reconciled.",
    aggregate: "sum",
  },
  purser_ramp_transfers: {
    help: "Transfers with exchanges that have not ended, or wait for a person.",
    aggregate: "sum",
  },
  purser_ramp_transfer_age_seconds: {
    help: "Age of the oldest transfer with an exchange that has not ended.",
    aggregate: "max",
  },
  purser_messages_held: {
    help: "Messages that wait because their provider refuses the installation's settings.",
    aggregate: "sum",
  },
  purser_stops: { help: "Emergency stops in force.", aggregate: "sum" },
  purser_hash_chain_backlog: {
    help: "Commits that have no link in the chain of hashes yet.",
    aggregate: "sum",
  },
  purser_event_backlog: { help: "Events that no reader sees yet.", aggregate: "sum" },
  purser_event_age_seconds: {
    help: "Age of the oldest event that no reader sees yet.",
    aggregate: "max",
  },
  purser_webhooks: {
    help: "Webhooks whose receivers answer, fail, or were given up.",
    aggregate: "sum",
  },
  purser_webhook_deliveries: { help: "Deliveries that wait.", aggregate: "sum" },
  purser_webhook_delivery_age_seconds: {
    help: "How late the first delivery to a receiver that answers is.",
    aggregate: "max",
  },
};

/** Names of the metrics that are measured in realms. */
export const MEASURED_NAMES: readonly string[] = Object.keys(MEASURED);

/** A metric with its values. */
export interface Gauge {
  name: string;
  help: string;
  values: { labels: Record<string, string>; value: number }[];
}

/** Rows of one answer, at most: labels of one realm are bounded, realms are not. */
const ROWS_MAX = 50_000;

/** Measures a realm and stores that in the platform's schema. */
export async function keepMeasurement(
  platform: Pool,
  realm: { id: string; pool: Pool },
): Promise<void> {
  // Of many assets the last are left out: what there are few of comes first.
  const samples = await reading(realm.pool, async (db) => [
    ...await measureNetworks(db),
    ...await measureEvents(db),
    ...await measureRealm(db),
  ]);
  const kept = samples.slice(0, SAMPLES_MAX);
  await locking(platform, (tx) => replaceMeasurement(tx, realm.id, kept));
}

/**
 * Reads what was last measured.
 *
 * @param perRealm whether each realm is told apart, by its id and name, for the operator alone
 */
export async function readMeasurements(platform: Pool, perRealm: boolean): Promise<Gauge[]> {
  const waiting = await findWaiting(platform);
  return await reading(platform, async (db) => {
    const rows = await selectMeasurements(db, { perRealm, limit: ROWS_MAX });
    const { realms, age } = await selectMeasurementAge(db);
    const faults = await selectFaultCounts(db);
    const single = (name: string, help: string, value: number) => ({
      ...{ name, help },
      values: [{ labels: {}, value }],
    });
    return [
      ...gaugesOf(rows),
      single("purser_realms", "Realms of the installation.", realms),
      single(
        "purser_installation_waiting",
        "1 while nothing is signed because hosts have not compared since the server was promoted.",
        waiting === null ? 0 : 1,
      ),
      single(
        "purser_installation_records_owed",
        "Records of hosts that have not been compared since.",
        waiting?.owed ?? 0,
      ),
      ...(age === null ? [] : [
        single("purser_measurement_age_seconds", "Age of a realm's last measurement.", age),
      ]),
      {
        name: "purser_realms_halted",
        help: "Realms for which workers do not sign, by the reason.",
        values: faults.map(({ code, chain, network, realms }) => ({
          labels: { code, chain, network },
          value: realms,
        })),
      },
    ];
  });
}

/** Rows of names that this version does not know are left out: a newer worker may have measured them. */
function gaugesOf(rows: readonly MeasurementRow[]): Gauge[] {
  return Object.entries(MEASURED).map(([name, { help, aggregate }]) => ({
    ...{ name, help },
    values: rows.filter((row) => row.name === name).map((row) => ({
      labels: row.realm === null
        ? row.labels
        : { ...row.labels, realm: row.realm, realm_name: row.realm_name! },
      value: row[aggregate],
    })),
  }));
}
