/** The command `reconcile`, which an operator runs after a restore. @module */
import { parseArgs } from "node:util";
import type { Config } from "../../config.ts";
import type { Database } from "../../db/database.ts";
import { selectAttestedS } from "../../db/realms/installation.ts";
import { goThrough, reasonOf } from "../../db/realms/realm_rounds.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import { isId } from "../../domain/ids.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import { VOUCHED_S } from "../../domain/realms/installation.ts";
import { countAllRealms, locationOf } from "../../domain/realms/realms.ts";
import type { Log } from "../../log.ts";
import type { Progress } from "../../progress.ts";
import { compareRealm } from "../installation/attestation.ts";
import { workerContext } from "../worker_context.ts";
import { openChains } from "../chains/registry.ts";
import { claimEpoch, haltInstallation, inspectInstallation } from "../installation/fence.ts";
import { keptIdentities } from "../installation/network_identities.ts";
import { quarantineAll } from "../installation/quarantine_all.ts";
import { type LateAnswer, type PlaceReport, type Question, reconcileRealm } from "./reconcile.ts";
import { openSigner } from "../keys/signer.ts";
import type { Statements } from "./stated.ts";

/** Dependencies of the command. */
export interface ReconcileDependencies {
  config: Config;
  database: Database;
  log: Log;
  masterKey: string;
  /** Shows how many realms were read. */
  progress?: Pick<Progress, "part" | "add">;
  /** Prints a line for the operator. */
  print: (text: string) => void;
  /**
   * Asks the operator and gives the typed line, or null at the end of the input; null without a
   * terminal.
   */
  ask: ((text: string) => string | null) | null;
}

/** The findings in a realm. */
export interface RealmReport {
  realm: string;
  name: string;
  places: PlaceReport[];
  fault: string | null;
}

/** The result of the command. */
export interface ReconcileReport {
  realms: RealmReport[];
  /** Withdrawals with an answer that no question needed, and transactions of which nothing was to be said. */
  unasked: string[];
  epoch: number | null;
  /** Why a listing has read and changed nothing; null where it has, or none was asked for. */
  unread: string | null;
  /** Whether no question is open. */
  done: boolean;
}

const NEWLINE = 10;
/** A transaction, as its chain names it. */
const HASH = /^[0-9A-Za-z]{64,88}$/;
const FLAGS = {
  list: { type: "boolean" },
  join: { type: "boolean" },
  behind: { type: "boolean" },
  paid: { type: "string", multiple: true },
  unpaid: { type: "string", multiple: true },
  loss: { type: "string", multiple: true },
  payment: { type: "string", multiple: true },
  gap: { type: "string" },
  back: { type: "string" },
} as const;

/** The arguments of the command, read. */
export interface ReconcileArguments {
  values: { list?: boolean; join?: boolean; behind?: boolean };
  /** Whether each withdrawal that was named was paid. */
  answers: Map<string, boolean>;
  /** How transactions that cannot be read are to be booked. */
  stated: Statements;
  /** Address indices that are skipped. */
  gap: number;
  /** Blocks below the cursor that are rescanned. */
  back: number;
}

/** Reads the arguments of the command. @throws {TypeError} */
export function readReconcileArguments(args: readonly string[]): ReconcileArguments {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  const gap = wholeOf(values.gap, 10_000);
  const back = wholeOf(values.back, 5_000);
  return { values, answers: answersOf(values), stated: statementsOf(values), gap, back };
}

/**
 * Reconciles every ramp in quarantine, and begins a new epoch when nothing is left open. With
 * `--list` the quarantine stays, and an installation whose workers are well, or wait for others, is left alone.
 */
export async function reconcileAll(
  dependencies: ReconcileDependencies,
  args: readonly string[],
): Promise<ReconcileReport> {
  const { values, answers, stated, gap, back } = readReconcileArguments(args);
  const { config, database, log } = dependencies;
  const where = {
    platform: database.platform,
    dataDir: config.dataDir,
    label: config.installationEpoch,
  };
  if (values.join) {
    const epoch = await claimEpoch(where, "join");
    return { realms: [], unasked: [], epoch, unread: null, done: true };
  }
  const { row, verdict } = await inspectInstallation(where);
  const { id: master } = await readMasterKey(dependencies.masterKey);
  if (row.master !== null && row.master !== master) {
    throw new TypeError(
      `the installation has the master key ${row.master}, and this command another: a backup has the` +
        " key of its time, and is reconciled with that",
    );
  }
  const unread = values.list ? await unreadFor(database, { row, verdict }) : null;
  if (unread !== null) return { realms: [], unasked: [], epoch: null, unread, done: false };
  const isApart = verdict.state === "apart" || verdict.state === "waiting";
  const apart = isApart || row.halted !== null;
  if (apart) {
    if (where.label !== null && where.label === row.label) {
      throw new TypeError("INSTALLATION_EPOCH must get another value before a reconciliation");
    }
    const detail = isApart ? verdict.detail : row.halted!.detail;
    const endsLogins = values.list !== true && await haltInstallation(database.platform, detail);
    await quarantineAll(database, log, detail, { goesOn: true, endsLogins });
    if (endsLogins) dependencies.print("every login has ended: everybody logs in again");
  }
  const realms = await reconcileRealms(dependencies, {
    apart,
    keep: values.list === true,
    behind: values.behind === true,
    gap,
    back,
    // A listing settles nothing by anybody's word.
    ...(values.list === true ? {} : { stated }),
    answer: answerer(dependencies, { list: values.list === true, answers }),
  });
  const done =
    realms.every(({ fault, places }) => fault === null && places.every((o) => o.lifted)) &&
    !(apart && values.list);
  const epoch = done && apart ? await claimEpoch(where, "new") : null;
  const unasked = [...answers.keys(), ...stated.keys()];
  for (const id of unasked) {
    dependencies.print(
      `${id} was not asked about: it is settled, its chain was not read, or there is none`,
    );
  }
  for (
    const line of realms.flatMap(({ places }) => places.flatMap(({ late }) => late.map(toldLate)))
  ) {
    dependencies.print(line);
  }
  return { realms, unasked, epoch, unread, done };
}

/**
 * Why a listing leaves an installation alone: its workers go on, or will by themselves, and a listing would quarantine
 * every ramp of theirs. Null where nobody signs anyway: the installation is halted, or its database older than the record.
 */
async function unreadFor(
  { platform }: Database,
  { row, verdict }: Awaited<ReturnType<typeof inspectInstallation>>,
): Promise<string | null> {
  if (row.halted !== null) return null;
  if (verdict.state === "waiting") return verdict.detail;
  if (verdict.state !== "apart" || verdict.fault !== "host") return null;
  const seconds = await reading(platform, selectAttestedS);
  if (seconds === null || seconds > VOUCHED_S) return null;
  return `${verdict.detail}; and workers of the installation were seen in the last minute: end them first`;
}

function toldLate({ withdrawal, answer, status, order, hash }: LateAnswer): string {
  const where = hash === null ? "" : `, its transaction ${hash}`;
  return `${withdrawal}: the answer "${answer}" came too late and has no effect, because another run had ` +
    `settled or released it: it is ${status}, its order ${order}${where}`;
}

async function reconcileRealms(
  dependencies: ReconcileDependencies,
  options: Parameters<typeof reconcileRealm>[1],
): Promise<RealmReport[]> {
  const { config, database, log, masterKey, progress } = dependencies;
  const chains = openChains(config.chains, keptIdentities(database.platform));
  const shared = { log, chains, signer: openSigner(masterKey, Date.now), now: Date.now };
  const { signal } = new AbortController(); // the command runs to its end
  const reports: RealmReport[] = [];
  const poolOf = (realm: RealmRow) => database.working(locationOf(realm));
  const reportOf = ({ id, name }: RealmRow) => ({ realm: id, name, places: [], fault: null });
  if (progress !== undefined) {
    progress.part("Reconciling", await countAllRealms(database.platform), "realms");
  }
  try {
    await goThrough(database.platform, {
      serverOf: (realm) => database.serverOf(locationOf(realm)),
      poolOf,
      async work(realm) {
        const context = workerContext(shared, { realm, pool: poolOf(realm), signal });
        await compareRealm(context, database.platform);
        const places = await reconcileRealm(context, options);
        if (places.length > 0) reports.push({ ...reportOf(realm), places });
        progress?.add(1);
      },
      fail(realm, error) {
        log("error", "a realm could not be reconciled", { realm: realm.id, error });
        reports.push({ ...reportOf(realm), fault: reasonOf(error) });
        progress?.add(1);
      },
    });
  } finally {
    chains.close();
  }
  return reports;
}

/** Formats the end of a reconciliation: the realms that keep it from ending, a line each. */
export function formatReconciliation({ realms, unread, done }: ReconcileReport): string[] {
  if (unread !== null) return [`nothing was listed, and nothing has changed: ${unread}`];
  const left = realms.flatMap(({ realm, name, places, fault }) => {
    const waiting = places.filter(({ lifted }) => !lifted);
    const count = (of: (place: PlaceReport) => readonly unknown[]) =>
      waiting.reduce((sum, place) => sum + of(place).length, 0);
    const questions = count(({ open }) => open);
    const obstacles = count((place) => place.obstacles);
    const said = [
      ...fault === null ? [] : [`FAILED: ${fault}`],
      ...waiting.length === 0 ? [] : [
        `ramps in quarantine: ${waiting.length}, questions: ${questions}, obstacles: ${obstacles}`,
      ],
    ];
    return said.length === 0 ? [] : [`  realm ${name} (${realm}): ${said.join("; ")}`];
  });
  if (left.length > 0) return [`realms that are not reconciled: ${left.length}`, ...left];
  return [done ? "reconciled" : "not reconciled: the quarantine stays until `deno task reconcile`"];
}

/** Answers on the command line: by withdrawal, whether it was paid. */
function answersOf(values: { paid?: string[]; unpaid?: string[] }): Map<string, boolean> {
  const answers = new Map<string, boolean>();
  const given: [string, boolean][] = [
    ...(values.paid ?? []).map((id): [string, boolean] => [id, true]),
    ...(values.unpaid ?? []).map((id): [string, boolean] => [id, false]),
  ];
  for (const [id, paid] of given) {
    if (!isId(id)) throw new TypeError(`${id} is no id of a withdrawal`);
    if (answers.get(id) === !paid) throw new TypeError(`${id} is said to be paid and unpaid`);
    answers.set(id, paid);
  }
  return answers;
}

/**
 * How transactions that cannot be read are to be booked: `--loss <hash>`, or `--payment <hash>=<withdrawal>`
 * for each that it paid. What they moved is never said here.
 */
function statementsOf(values: { loss?: string[]; payment?: string[] }): Statements {
  const stated: Statements = new Map();
  const losses = values.loss ?? [];
  const payments = (values.payment ?? []).map((text) => {
    const [hash, withdrawal = "", ...more] = text.split("=");
    if (!isId(withdrawal) || more.length > 0) {
      throw new TypeError(`${text} is no transaction and the id of a withdrawal: <hash>=<id>`);
    }
    return { hash, withdrawal };
  });
  for (const hash of [...losses, ...payments.map((one) => one.hash)]) {
    if (!HASH.test(hash)) throw new TypeError(`${hash} is no transaction`);
    const of = new Set(payments.filter((one) => one.hash === hash).map((one) => one.withdrawal));
    if (of.size > 0 && losses.includes(hash)) throw new TypeError(`of ${hash} two things are said`);
    stated.set(hash, [...of]);
  }
  return stated;
}

/** Answers a question from the command line, once, or by asking the operator. */
function answerer(
  dependencies: ReconcileDependencies,
  { list, answers }: { list: boolean; answers: Map<string, boolean> },
): (question: Question) => Promise<boolean | null> {
  return ({ withdrawal, chain, destination, amount, created_at, like }) => {
    const given = answers.get(withdrawal) ?? null;
    answers.delete(withdrawal);
    if (list) return Promise.resolve(null);
    if (given !== null || dependencies.ask === null) return Promise.resolve(given);
    dependencies.print(
      `withdrawal ${withdrawal} of ${new Date(created_at).toISOString()}: ${amount} base units on` +
        ` ${chain} to ${destination}. ` +
        (like === null
          ? "The chain shows no payment of it."
          : `Nobody is known to have ordered ${like}, which paid the same.`),
    );
    return Promise.resolve(asked(dependencies.ask));
  };
}

/**
 * Asks until the answer is valid. An unpaid withdrawal is sent, so only the exact word counts as
 * that answer.
 */
function asked(ask: (text: string) => string | null): boolean | null {
  for (;;) {
    const said = ask('Was it paid? Type "paid", "unpaid", or nothing to leave it open: ');
    const word = said?.trim().toLowerCase() ?? "";
    if (word === "") return null;
    if (word === "paid" || word === "unpaid") return word === "paid";
  }
}

/** Asks on the terminal, apart from the output for other programs; null at the end of the input. */
export function askOnTerminal(text: string): string | null {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  const line: number[] = [];
  const byte = new Uint8Array(1);
  for (;;) {
    const read = Deno.stdin.readSync(byte);
    if (read === null) return line.length === 0 ? null : decode(line);
    if (byte[0] === NEWLINE) return decode(line);
    line.push(byte[0]);
  }
}

function decode(line: readonly number[]): string {
  return new TextDecoder().decode(new Uint8Array(line));
}

function wholeOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,7}$/.test(text)) throw new TypeError(`${text} is no number`);
  return Number(text);
}
