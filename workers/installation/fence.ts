/**
 * The fence stops workers from signing in a database that was restored from a backup, or that is a
 * copy of one that still runs. Every host keeps a record outside of the database (`DATA_DIR`, or the
 * process's memory where `INSTALLATION_EPOCH` is set). Record and database advance together, and are
 * compared before every use of a key.
 */
import type { Pool } from "../../db/database.ts";
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
  selectHome,
  selectInstallation,
  selectWitness,
  updateInstallation,
  upsertWitness,
} from "../../db/realms/installation.ts";
import { deleteProvisionings } from "../../db/realms/realms.ts";
import { locking, reading, writing } from "../../db/transaction.ts";
import {
  type InstallationRow,
  judgeInstallation,
  type Outside,
  type Step,
  type Verdict,
} from "../../domain/realms/installation.ts";
import type { Log } from "../../log.ts";
import { ChainError } from "../chains/chain.ts";
import { fileRecord, memoryRecord, type RecordStore } from "./epoch_record.ts";
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
  /** Called when the database is not the one that this host recorded. */
  halt?: (detail: string) => Promise<void>;
  /** Whether it compares by itself from time to time. */
  loop?: boolean;
}

const QUARANTINED = "chain.quarantined";
/** How often record and database are compared, and how often they advance. */
const COMPARE_MS = 1_000;
const ADVANCE_MS = 10_000;
/** A host that has a record vouches for the database for so many seconds. */
const VOUCHED_S = 60;

interface FenceState extends FenceOptions {
  store: RecordStore;
  home: Home;
  /** The fault that was logged last; each is logged once. */
  reported: string | null;
}

/** Opens a fence: claims an installation that no host has, and compares. */
export async function openFence(options: FenceOptions): Promise<Fence> {
  const { platform, dataDir, label, log } = options;
  const row = await reading(platform, selectInstallation);
  const store = label === null ? fileRecord(dataDir, row.id) : memoryRecord();
  const state = { ...options, store, home: await findHome(platform), reported: null };
  await writing(platform, (db) => claimMaster(db, options.master));
  await advance(state);
  const leaving = new AbortController();
  const looping = options.loop ?? true ? loop(state, leaving.signal) : Promise.resolve();
  const fault = () => find(state);
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
    async assertOpen() {
      const found = await fault();
      if (found !== null) throw new ChainError("held", found);
    },
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

async function loop(state: FenceState, signal: AbortSignal): Promise<void> {
  let advanceAt = Date.now() + ADVANCE_MS;
  while (!signal.aborted) {
    await sleep(COMPARE_MS, signal);
    if (signal.aborted) return;
    try {
      const sound = await find(state) === null;
      if (sound ? Date.now() >= advanceAt : await mayJoin(state)) {
        await advance(state);
        advanceAt = Date.now() + ADVANCE_MS;
      }
    } catch (error) {
      if (!signal.aborted) {
        state.log("warn", "the installation could not be compared with its record", { error });
      }
    }
  }
}

/** Finds the reason why nothing may be signed, and logs it once. */
async function find(state: FenceState): Promise<string | null> {
  const { row, verdict } = await compare(state);
  let fault: string | null = null;
  if (verdict.state === "apart") fault = `${QUARANTINED}: ${verdict.detail}`;
  else if (row.halted !== null) fault = `${QUARANTINED}: ${row.halted.detail}`;
  else if (row.master !== null && row.master !== state.master) {
    fault = otherKey(row.master);
  }
  if (verdict.state === "apart" && verdict.fault === "database") {
    await halt(state, row, verdict.detail);
  }
  if (fault !== state.reported) {
    state.reported = fault;
    if (fault !== null) state.log("error", "nothing is signed", { fault });
    else state.log("info", "signing continues");
  }
  return fault;
}

function otherKey(current: string | null): string {
  return `the master key is ${current}, and this process has another: start it with that key,` +
    " or finish `deno task rotate-master-key`";
}

/** Halts the whole installation until it is reconciled. */
async function halt(state: FenceState, row: InstallationRow, detail: string): Promise<void> {
  if (row.halted === null) {
    await locking(state.platform, async (tx) => {
      const current = await lockInstallation(tx);
      if (current.halted !== null) return;
      await updateInstallation(tx, { halted: { detail, at: Date.now() } });
    });
  }
  if (state.reported === null) await state.halt?.(detail);
}

/** Compares; where the two differ, once more while no process of this host advances. */
async function compare(state: FenceState): Promise<{ row: InstallationRow; verdict: Verdict }> {
  const first = await compareOnce(state);
  if (first.verdict.state !== "apart") return first;
  return await state.store.locked(() => compareOnce(state));
}

async function compareOnce(
  state: Pick<FenceState, "store" | "home" | "label" | "platform">,
): Promise<{ row: InstallationRow; verdict: Verdict }> {
  const { store, home, label, platform } = state;
  const outside = await store.read();
  return await reading(platform, async (db) => {
    const row = await selectInstallation(db);
    const witness = outside === null ? null : await selectWitness(db, outside.witness);
    // The database may be another than the one in which this process has started.
    const at = { ...home, home: await selectHome(db, home) };
    return { row, verdict: judgeInstallation({ row, witness, outside, at, label }) };
  });
}

/**
 * Takes a step, in the record first: a process that ends between the two finds the database at the
 * step that the record has, or at the next.
 */
async function advance(state: FenceState): Promise<void> {
  const { store, platform, home, label } = state;
  // A process that stayed connected through a promotion has seen that nothing was lost.
  const { timeline } = label === null ? home : await findHome(platform);
  await store.locked(async () => {
    const outside = await store.read();
    const begun = await locking(platform, async (tx) => {
      const row = await lockInstallation(tx);
      const witness = outside === null ? null : await selectWitness(tx, outside.witness);
      const at = { ...home, home: await selectHome(tx, home) };
      const verdict = judgeInstallation({ row, witness, outside, at, label });
      const joins = label !== null && outside === null && verdict.state === "apart" &&
        isSameByLabel(row, { label, home: { ...at, timeline } });
      if (verdict.state === "apart" && !joins) return null;
      if (verdict.state === "unclaimed") {
        await updateInstallation(tx, { ...at, label });
      } else if (verdict.state === "sound" && label !== null && timeline !== row.timeline) {
        await updateInstallation(tx, { timeline });
      }
      const step = { count: (witness?.count ?? 0) + 1, token: crypto.randomUUID() };
      const record = verdict.state === "sound"
        ? { ...outside!, now: stepOf(witness!), next: step }
        : recordOf(row, step);
      await store.write(record);
      if (label !== null) await deleteOldWitnesses(tx);
      await upsertWitness(tx, { id: record.witness, ...step });
      return { ...record, now: step, next: null };
    });
    if (begun === null) return;
    await store.write(begun);
    state.home = { ...home, timeline };
  });
}

/** Whether the record is in memory and still empty: started before a reconciliation ended, it joins as one that starts now. */
async function mayJoin({ label, store }: FenceState): Promise<boolean> {
  return label !== null && await store.read() === null;
}

/** Where the label is the record, a process joins if label, home and timeline are the database's. */
function isSameByLabel(
  row: InstallationRow,
  { label, home }: Pick<FenceState, "label" | "home">,
): boolean {
  return row.label === label && row.home === home.home && row.timeline === home.timeline;
}

function stepOf({ count, token }: Step): Step {
  return { count, token };
}

function recordOf(row: InstallationRow, step: Step): Outside {
  const witness = crypto.randomUUID();
  return { installation: row.id, epoch: row.epoch, witness, now: step, next: null };
}

/** Compares once, without claiming anything; gives the reason why nothing may be signed, or null. */
export async function inspectInstallation(
  options: Pick<FenceOptions, "platform" | "dataDir" | "label">,
): Promise<{ row: InstallationRow; verdict: Verdict }> {
  const { platform, dataDir, label } = options;
  const row = await reading(platform, selectInstallation);
  // A record in memory is as old as its process.
  if (label !== null) {
    const at = await findHome(platform);
    const alone = row.label === label && row.home === at.home && row.timeline === at.timeline;
    if (alone) return { row, verdict: { state: "sound" } };
    const evidence = { row, witness: null, outside: null, at, label };
    return { row, verdict: judgeInstallation(evidence) };
  }
  const store = fileRecord(dataDir, row.id);
  const home = await findHome(platform);
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
      await upsertWitness(tx, { id: record.witness, ...step });
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
