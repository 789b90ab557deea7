/** The comparison of a host's record with the database, and what the two say of each other. @module */
import type { Db, Pool } from "../../db/database.ts";
import {
  type Home,
  selectHome,
  selectInstallation,
  selectPromotion,
  selectWitness,
} from "../../db/realms/installation.ts";
import { reading } from "../../db/transaction.ts";
import {
  type Evidence,
  type InstallationRow,
  judgeInstallation,
  type Outside,
  type Step,
  type Verdict,
} from "../../domain/realms/installation.ts";
import type { RecordStore } from "./epoch_record.ts";

/** Who compares: a process by its first database, and the epoch that it was told. */
export interface Comparing {
  /** The database in which the process has started. */
  home: Home;
  /** `INSTALLATION_EPOCH`; null: the record is a file. */
  label: string | null;
}

/** A comparison, and what was compared. */
export interface Comparison extends Evidence {
  verdict: Verdict;
}

/** Reads the record and the database, and compares them. */
export async function compareOnce(
  { store, platform, ...state }: Comparing & { store: RecordStore; platform: Pool },
): Promise<Comparison> {
  const outside = await store.read();
  return await reading(platform, async (db) => {
    return judge(db, { ...state, outside, row: await selectInstallation(db) });
  });
}

/** Reads what the database says of a record, and judges. */
export async function judge(
  db: Db,
  { row, outside, home, label }:
    & Comparing
    & Pick<Evidence, "row" | "outside">,
): Promise<Comparison> {
  const witness = outside === null ? null : await selectWitness(db, outside.witness);
  // The database may be another than the one in which this process has started, and its server promoted.
  const at = await selectHome(db, home);
  const { timeline } = at;
  const promotion = row.timeline === null || timeline === null || row.timeline === timeline
    ? null
    : await selectPromotion(db, { witness: witness?.id ?? null, timeline });
  const evidence = { row, witness, outside, at, label, promotion };
  return { ...evidence, verdict: judgeInstallation(evidence) };
}

/** Where the label is the record, a process joins if label, home and timeline are the database's. */
export function isSameByLabel(
  row: InstallationRow,
  { label, home }: Comparing,
): boolean {
  return label !== null && row.label === label && row.home === home.home &&
    row.timeline === home.timeline;
}

/** Makes the first record of a host. */
export function recordOf(row: InstallationRow, step: Step): Outside {
  const witness = crypto.randomUUID();
  return { installation: row.id, epoch: row.epoch, witness, now: step, next: null };
}
