/** Rounds in which every ledger has its turn, while the others are suspended. @module */
import type { Choice } from "../generator.ts";
import { peakMib, residentMib } from "../memory.ts";
import { cpuSeconds, median, treeOf } from "../processes.ts";
import type { Stand } from "../stand.ts";
import type { Yardstick } from "../yardstick.ts";
import {
  FUNDED,
  type PeerLoad,
  resume,
  type Subject,
  type SubjectOptions,
  suspend,
} from "./subjects.ts";

/** A ledger that is measured. */
export interface Peer {
  /** By which `--only` names it. */
  key: string;
  name: string;
  start(options: SubjectOptions): Promise<Subject>;
  /** Whether each load begins with a new one, since the last one's work would still wait in it. */
  afresh?: boolean;
}

/** How all are measured. */
export interface How {
  rounds: number;
  seconds: number;
  connections: number;
  loads: readonly Choice[];
  /** No round begins after it; milliseconds since 1970. */
  until: number;
}

/** One row of one round. */
export interface Cell {
  /** Of the yardstick's rate in the round, and of this service's under the same load. */
  ratio: number;
  ofPurser: number;
  rate: number;
  p50: number;
  p99: number;
  /** Milliseconds of processor a transfer, of the ledger and of PostgreSQL. */
  cost: number;
  /** Bytes a transfer: of the write-ahead log, and by which tables and indexes grew. */
  wal: number;
  bytes: number;
  failed: number;
  /** A second; NaN where it is what was applied. */
  acknowledged: number;
}

/** Resident memory of one turn, in MiB, without PostgreSQL. */
export interface Memory {
  before: number;
  after: number;
  peak: number;
}

/** What all rounds found, by row and by ledger. */
export interface Found {
  cells: Map<string, Cell[]>;
  memory: Map<string, Memory[]>;
  yardstick: number[];
  rounds: number;
  /** Ledgers whose balances are not what they were funded with. */
  unbalanced: number;
}

/** One ledger's place in the rounds; those that are begun afresh have nobody between two loads. */
interface Turn {
  peer: Peer;
  subject: Subject | null;
}

const WARM_UP_S = 1;
/** The yardstick runs before each third turn, so that its median is of the whole round. */
const YARDSTICK_EVERY = 3;
const PURSER = "purser";

/** Measures all peers, of which this service is one. */
export async function measureRounds(
  options: SubjectOptions,
  peers: readonly Peer[],
  yardstick: Yardstick,
  how: How,
): Promise<Found> {
  const cells = new Map<string, Cell[]>();
  const found: Found = { cells, memory: new Map(), yardstick: [], rounds: 0, unbalanced: 0 };
  await using started = new AsyncDisposableStack();
  const turns: Turn[] = [];
  for (const peer of peers) {
    const subject = peer.afresh ? null : started.use(await peer.start(options));
    if (subject !== null) await suspend(options.stand, subject);
    turns.push({ peer, subject });
  }
  while (found.rounds < how.rounds && Date.now() < how.until) {
    await measureRound(options, rotated(turns, found.rounds), yardstick, how, found);
    found.rounds++;
  }
  for (const { peer, subject } of turns) {
    if (subject === null) continue;
    await resume(subject);
    await check(peer, subject, options.accounts, found);
  }
  return found;
}

/** Puts another one first in each round, so that nobody is always the first. */
export function rotated<T>(all: readonly T[], by: number): T[] {
  const first = by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function measureRound(
  options: SubjectOptions,
  turns: readonly Turn[],
  yardstick: Yardstick,
  how: How,
  found: Found,
): Promise<void> {
  const { seconds, connections } = how;
  const bases: number[] = [];
  const round = new Map<string, Cell>();
  for (const [place, { peer, subject }] of turns.entries()) {
    if (place % YARDSTICK_EVERY === 0) {
      const of = { of: "independent", clients: 32, how: "uniform", seconds } as const;
      const base = await yardstick.run(of);
      bases.push(base.requests / base.seconds);
    }
    for (const choice of how.loads) {
      const load = { how: choice, seconds, connections };
      const cell = subject === null
        ? await measureAfresh(options, peer, load, found)
        : await measure(options.stand, peer, subject, load, found);
      round.set(rowOf(peer.name, choice), cell);
      console.error(`  ${rowOf(peer.name, choice)}: ${Math.round(cell.rate)}/s`);
    }
  }
  const base = median(bases);
  found.yardstick.push(base);
  console.error(`round ${found.rounds + 1}: yardstick ${bases.map(Math.round).join(", ")}/s`);
  const purser = turns.find(({ peer }) => peer.key === PURSER)!.peer.name;
  for (const { peer } of turns) {
    for (const choice of how.loads) {
      const cell = round.get(rowOf(peer.name, choice))!;
      cell.ratio = cell.rate / base;
      cell.ofPurser = cell.rate / round.get(rowOf(purser, choice))!.rate;
      add(found.cells, rowOf(peer.name, choice), cell);
    }
  }
}

function rowOf(name: string, choice: Choice): string {
  return `${name} | ${choice}`;
}

function add<T>(to: Map<string, T[]>, key: string, one: T): void {
  to.set(key, [...to.get(key) ?? [], one]);
}

async function measureAfresh(
  options: SubjectOptions,
  peer: Peer,
  load: PeerLoad,
  found: Found,
): Promise<Cell> {
  await using subject = await peer.start(options);
  const cell = await run(options.stand, peer, subject, load, found);
  await check(peer, subject, options.accounts, found);
  return cell;
}

/** Lets one run, and warms it up. */
async function measure(
  stand: Stand,
  peer: Peer,
  subject: Subject,
  load: PeerLoad,
  found: Found,
): Promise<Cell> {
  await resume(subject);
  await subject.run({ ...load, seconds: WARM_UP_S });
  await subject.clean();
  const cell = await run(stand, peer, subject, load, found);
  await subject.clean();
  await suspend(stand, subject);
  return cell;
}

/** Runs one load; the ratios are the caller's to say. */
async function run(
  stand: Stand,
  peer: Peer,
  subject: Subject,
  load: PeerLoad,
  found: Found,
): Promise<Cell> {
  const used = async () => {
    const all = await Promise.all([stand.server.pid, ...subject.pids].map(cpuSeconds));
    return {
      cpu: all.reduce((sum, seconds) => sum + seconds, 0),
      wal: await walBytes(stand),
      bytes: await subject.bytes(),
    };
  };
  const resident = await memoryOf(subject, residentMib);
  const before = await used();
  const { requests, failed, seconds, p50, p99, acknowledged = NaN } = await subject.run(load);
  const after = await used();
  add(found.memory, peer.name, {
    before: resident,
    after: await memoryOf(subject, residentMib),
    peak: await memoryOf(subject, peakMib),
  });
  // What waits to be applied is no failure, and what failed was never applied.
  const done = Number.isNaN(acknowledged) ? requests - failed : requests;
  return {
    ratio: NaN,
    ofPurser: NaN,
    rate: done / seconds,
    p50,
    p99,
    cost: (after.cpu - before.cpu) / done * 1000,
    wal: (after.wal - before.wal) / done,
    bytes: (after.bytes - before.bytes) / done,
    failed,
    acknowledged,
  };
}

async function memoryOf(
  { pids }: Subject,
  mibOf: (pid: number) => Promise<number>,
): Promise<number> {
  const all = (await Promise.all(pids.map(treeOf))).flat();
  return (await Promise.all(all.map(mibOf))).reduce((sum, mib) => sum + mib, 0);
}

async function walBytes({ sql }: Stand): Promise<number> {
  const [{ n }] = await sql<{ n: string }[]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as n`;
  return Number(n);
}

/** Compares all balances with what was funded: transfers move, and make nothing. */
async function check(
  { name }: Peer,
  subject: Subject,
  accounts: number,
  found: Found,
): Promise<void> {
  const balances = await subject.balances().catch((error) => {
    console.error(`  ${name}: ${error.message}`); // what was measured is printed all the same
    return [];
  });
  const sum = balances.reduce((all, one) => all + one, 0n);
  const negative = balances.filter((one) => one < 0n).length;
  const isRight = balances.length === accounts && sum === BigInt(accounts * FUNDED) &&
    negative === 0;
  if (!isRight) found.unbalanced++;
  console.error(
    `  ${name}: ${balances.length} balances sum up to ${sum}, ` +
      `${negative} below zero: ${isRight ? "as funded" : "NOT as funded"}`,
  );
}
