/**
 * The fence stops workers from signing in a database that was restored from a backup, or that is a
 * copy of one that still runs. Every host keeps a record outside of the database (`DATA_DIR`, or the
 * process's memory where `INSTALLATION_EPOCH` is set). Record and database advance together, and are
 * compared before every use of a key.
 */
import type { Pool, Tx } from "../../db/database.ts";
import {
  claimMaster,
  deleteOldWitnesses,
  deleteWitness,
  deleteWitnesses,
  findHome,
  holdMaster,
  type Home,
  lockInstallation,
  selectAttestedS,
  selectInstallation,
  selectPromotion,
  spareWitnesses,
  updateInstallation,
  upsertWitness,
} from "../../db/realms/installation.ts";
import { deleteProvisionings, drawLoginEpoch } from "../../db/realms/realms.ts";
import { locking, reading, writing } from "../../db/transaction.ts";
import {
  type Evidence,
  type InstallationRow,
  type Step,
  type Verdict,
  VOUCHED_S,
} from "../../domain/realms/installation.ts";
import type { Log } from "../../log.ts";
import { ChainError } from "../chains/chain.ts";
import { compareOnce, type Comparison, isSameByLabel, judge, recordOf } from "./comparison.ts";
import { fileRecord, memoryRecord, RecordError, type RecordStore } from "./epoch_record.ts";
import { sleep } from "../timers.ts";
import type { Guard } from "../keys/signer.ts";

/** Stops a process from signing in a database that its host does not know. */
export interface Fence extends Guard {
  /**
   * Whether the database waits for its reconciliation: it is older than what the world was told, or a
   * copy of one that still tells it. Asked at most once a second.
   */
  isApart(): Promise<boolean>;
  /** Stops comparing. */
  close(): Promise<void>;
}

/** Options of a fence. */
export interface FenceOptions {
  platform: Pool;
  /** Folder of the record. */
  dataDir: string;
  /** `INSTALLATION_EPOCH`; null: the record is a file. */
  label: string | null;
  /** Fingerprint of the master key of this process. */
  master: string;
  log: Log;
  /** Called when the database is not the one that this host recorded; `isFirst`: it is this that ends all logins. */
  halt?: (detail: string, isFirst: boolean) => Promise<void>;
  /** Whether it compares by itself from time to time. */
  loop?: boolean;
}

const QUARANTINED = "chain.quarantined";
/** How often record and database are compared, and how often they advance. */
const COMPARE_MS = 1_000;
const ADVANCE_MS = 10_000;

interface FenceState extends FenceOptions {
  store: RecordStore;
  /** The database in which the process has started. */
  home: Home;
  /** When it last took a step, by the process's monotonic clock. */
  advancedAt: number;
  /** The fault that was logged last; each is logged once. */
  reported: string | null;
  /** The record that was logged last. */
  named: string | null;
  /** Whether the present difference was told to `halt`. */
  halted: boolean;
}

/** Opens a fence: claims an installation that no host has, and compares. */
export async function openFence(options: FenceOptions): Promise<Fence> {
  const { platform, dataDir, label, log } = options;
  const row = await reading(platform, selectInstallation);
  const store = label === null ? fileRecord(dataDir, row.id) : memoryRecord();
  const home = await findHome(platform);
  const state: FenceState = {
    ...{ ...options, store, home, advancedAt: -Infinity },
    ...{ reported: null, named: null, halted: false },
  };
  await writing(platform, (db) => claimMaster(db, options.master));
  await advance(state);
  const leaving = new AbortController();
  const looping = options.loop ?? true ? loop(state, leaving.signal) : Promise.resolve();
  const fault = () => find(state);
  const assertOpen = async () => {
    const found = await fault();
    if (found !== null) throw new ChainError("held", found);
  };
  let asked: { at: number; answer: Promise<boolean> } | null = null;
  return {
    fault,
    isApart() {
      const now = performance.now();
      if (asked === null || now - asked.at >= COMPARE_MS) {
        asked = {
          at: now,
          answer: fault().then((found) => found?.startsWith(QUARANTINED) ?? false),
        };
      }
      return asked.answer;
    },
    assertOpen,
    record: inTurns(async () => {
      const taken = await advance(state).catch((error) => {
        throw error instanceof RecordError ? new ChainError("held", error.message) : error;
      });
      await assertOpen();
      // The database that refused the step may be another than the one that was compared after it.
      if (!taken) throw new ChainError("held", "the record of this host has not advanced");
    }),
    underMaster: (work) =>
      locking(platform, async (tx) => {
        const current = await holdMaster(tx);
        if (current !== options.master) throw new ChainError("held", otherKey(current));
        return await work();
      }),
    async close() {
      leaving.abort();
      await looping;
      const mine = label === null ? null : await store.read();
      if (mine === null) return;
      await writing(platform, (db) => deleteWitness(db, mine.witness)).catch((error) =>
        log("warn", "a witness could not be deleted", { error })
      );
    },
  };
}

/** Runs work one after the other; who asks meanwhile shares the next run, which begins after they have asked. */
function inTurns(work: () => Promise<void>): () => Promise<void> {
  let [current, next]: [Promise<void> | null, Promise<void> | null] = [null, null];
  return () =>
    next ??= (current ?? Promise.resolve()).catch(() => {}).then(() => {
      [current, next] = [next, null];
      return work();
    });
}

async function loop(state: FenceState, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(COMPARE_MS, signal);
    if (signal.aborted) return;
    try {
      await find(state);
    } catch (error) {
      if (!signal.aborted) {
        state.log("warn", "the installation could not be compared with its record", { error });
      }
    }
  }
}

/** Finds the reason why nothing may be signed, and logs it once. Takes a step where one is due. */
async function find(state: FenceState): Promise<string | null> {
  const { fault, records } = await judgeNow(state).catch((error) => {
    if (error instanceof RecordError) return { fault: error.message, records: undefined };
    throw error;
  });
  if (fault !== state.reported) {
    state.reported = fault;
    const whom = records === undefined ? {} : { records };
    if (fault !== null) state.log("error", "nothing is signed", { fault, ...whom });
    else state.log("info", "signing continues");
  }
  return fault;
}

/** Compares, and takes a step where one is due; gives the reason why nothing may be signed, and the hosts waited for. */
async function judgeNow(
  state: FenceState,
): Promise<{ fault: string | null; records?: readonly string[] }> {
  let found = await compare(state);
  if (isStepDue(state, found) && await advance(state)) found = await compare(state);
  const { row, verdict, promotion } = found;
  if (verdict.state !== "apart") state.halted = false;
  else if (verdict.fault === "database") await halt(state, row, verdict.detail);
  if (verdict.state === "apart") return { fault: `${QUARANTINED}: ${verdict.detail}` };
  const records = verdict.state === "waiting" ? promotion!.records : undefined;
  if (row.halted !== null) return { fault: `${QUARANTINED}: ${row.halted.detail}`, records };
  if (verdict.state === "waiting") return { fault: `${QUARANTINED}: ${verdict.detail}`, records };
  const isOther = row.master !== null && row.master !== state.master;
  return { fault: isOther ? otherKey(row.master) : null };
}

/**
 * Whether a step is due: from time to time, also while others are waited for; at once where the server was promoted,
 * so that others need not wait for this host; and where a process may join that had to wait for others.
 */
function isStepDue(state: FenceState, { row, verdict, witness, outside, at }: Comparison): boolean {
  if (outside === null) return isSameByLabel(row, { label: state.label, home: at });
  const isNews = at.timeline !== null && witness?.timeline !== at.timeline;
  const isLate = performance.now() - state.advancedAt >= ADVANCE_MS;
  if (verdict.state === "waiting") return isNews || isLate;
  const isNoted = at.timeline === null || row.timeline === at.timeline;
  return verdict.state === "sound" && (isNews || isLate || !isNoted);
}

function otherKey(current: string | null): string {
  return `the master key is ${current}, and this process has another: start it with that key,` +
    " or finish `deno task rotate-master-key`";
}

/** Halts the whole installation until it is reconciled. */
async function halt(state: FenceState, row: InstallationRow, detail: string): Promise<void> {
  const isFirst = row.halted === null && await haltInstallation(state.platform, detail);
  if (state.halted) return;
  await state.halt?.(detail, isFirst);
  state.halted = true;
}

/**
 * Halts an installation until it is reconciled, and ends every login: revocations may be lost with the rest.
 *
 * @returns false where it is halted already
 */
export async function haltInstallation(platform: Pool, detail: string): Promise<boolean> {
  return await locking(platform, async (tx) => {
    const current = await lockInstallation(tx);
    if (current.halted !== null) return false;
    await updateInstallation(tx, { halted: { detail, at: Date.now() } });
    await drawLoginEpoch(tx, null);
    return true;
  });
}

/** Compares; where the two differ, once more while no process of this host advances. */
async function compare(state: FenceState): Promise<Comparison> {
  const first = await compareOnce(state);
  if (first.verdict.state !== "apart") return first;
  return await state.store.locked(() => compareOnce(state));
}

/**
 * Takes a step, in the record first: a process that ends between the two finds the database at the
 * step that the record has, or at the next.
 *
 * @returns whether it was taken: not where the database is apart
 */
async function advance(state: FenceState): Promise<boolean> {
  const { store, platform, home, label, log } = state;
  return await store.locked(async () => {
    const outside = await store.read();
    const begun = await locking(platform, async (tx) => {
      const row = await lockInstallation(tx);
      const found = await judge(tx, { row, outside, home, label });
      const { verdict, witness, at } = found;
      const joins = label !== null && outside === null && verdict.state === "apart" &&
        isSameByLabel(row, { label, home: at });
      if (
        !joins && (verdict.state === "apart" || outside === null && verdict.state === "waiting")
      ) {
        return null;
      }
      if (verdict.state === "unclaimed") await updateInstallation(tx, { ...at, label });
      const step = { count: (witness?.count ?? 0) + 1, token: crypto.randomUUID() };
      const record = verdict.state === "unclaimed" || joins
        ? recordOf(row, step)
        : { ...outside!, now: stepOf(witness!), next: step };
      await store.write(record);
      // After a promotion one that is old is compared as well: the server may have been away for as long.
      if (label !== null && found.promotion === null) await deleteOldWitnesses(tx);
      if (found.promotion !== null) await followPromotion(tx, found, record.witness);
      // The server did not report it when the installation was claimed.
      else if (row.timeline === null && at.timeline !== null) {
        await updateInstallation(tx, { timeline: at.timeline });
      }
      await upsertWitness(tx, { id: record.witness, ...step, timeline: at.timeline });
      return { ...record, now: step, next: null };
    });
    if (begun === null) return false;
    await store.write(begun);
    state.advancedAt = performance.now();
    // By this an operator finds the host that others wait for.
    if (state.named !== begun.witness) log("info", "compared", { record: begun.witness });
    state.named = begun.witness;
    return true;
  });
}

/** Notes the server's new timeline, once all that must have compared there. */
async function followPromotion(tx: Tx, { row, at }: Evidence, witness: string): Promise<void> {
  const timeline = at.timeline!;
  await spareWitnesses(tx, { timeline, agreed: row.timeline, goneS: VOUCHED_S });
  const { owed } = await selectPromotion(tx, { witness, timeline });
  if (owed === 0) await updateInstallation(tx, { timeline });
}

function stepOf({ count, token }: Step): Step {
  return { count, token };
}

/** Compares once, without claiming anything; gives the reason why nothing may be signed, or null. */
export async function inspectInstallation(
  options: Pick<FenceOptions, "platform" | "dataDir" | "label">,
): Promise<{ row: InstallationRow; verdict: Verdict }> {
  const { platform, dataDir, label } = options;
  const row = await reading(platform, selectInstallation);
  const home = await findHome(platform);
  // A record in memory is as old as its process.
  if (label !== null) {
    return await reading(platform, async (db) => {
      const found = await judge(db, { row, outside: null, home, label });
      if (!isSameByLabel(row, { label, home })) return found;
      return { row, verdict: { state: "sound" } as const };
    });
  }
  const store = fileRecord(dataDir, row.id);
  return await store.locked(() => compareOnce({ platform, label, store, home }));
}

/**
 * Begins a new epoch after a reconciliation, with this host as the only one that has a record; with
 * `join`, gives this host a record of the present epoch.
 *
 * @throws {TypeError} if that is not possible
 */
export async function claimEpoch(
  options: Pick<FenceOptions, "platform" | "dataDir" | "label">,
  how: "new" | "join",
): Promise<number> {
  const { platform, dataDir, label } = options;
  const { id } = await reading(platform, selectInstallation);
  const store = label === null ? fileRecord(dataDir, id) : memoryRecord();
  const home = await findHome(platform);
  return await store.locked(() =>
    locking(platform, async (tx) => {
      const row = await lockInstallation(tx);
      const epoch = how === "new" ? row.epoch + 1 : row.epoch;
      if (
        how === "join" && (row.halted !== null || row.home !== home.home || label !== row.label)
      ) {
        throw new TypeError("the installation is to be reconciled, not joined");
      }
      if (how === "join" && row.timeline !== home.timeline) {
        throw new TypeError("the server was promoted: start the hosts that have a record first");
      }
      if (how === "join") assertVouched(await selectAttestedS(tx));
      if (how === "new") {
        await deleteWitnesses(tx);
        await deleteProvisionings(tx); // a newer database may have created what this one would drop as abandoned
        await updateInstallation(tx, { ...home, label, epoch, halted: null });
      }
      if (label !== null) return epoch;
      const step = { count: 1, token: crypto.randomUUID() };
      const record = recordOf({ ...row, epoch }, step);
      await store.write(record);
      await upsertWitness(tx, { id: record.witness, ...step, timeline: home.timeline });
      return epoch;
    })
  );
}

/**
 * A host without a record cannot tell an old database from the present one, so another host must
 * vouch for it.
 */
function assertVouched(seconds: number | null): void {
  if (seconds !== null && seconds <= VOUCHED_S) return;
  throw new TypeError(
    "no other host has lately found the database as it left it: start one that has a record" +
      " first, or reconcile",
  );
}
