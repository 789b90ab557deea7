/** One round of a move: brings a copy of a realm to the state of one moment of its source. @module */
import type { Tx } from "../../db/database.ts";
import { forgetNoted, holdsCapture, selectNoted } from "../../db/moves/capture.ts";
import { copyNoted, copyWhole } from "../../db/moves/copying.ts";
import { fingerprint, type TableShape } from "../../db/moves/tables.ts";
import { DomainError } from "../../domain/errors.ts";
import { overtaken } from "./move.ts";

/** A round. */
export interface Round {
  /** A transaction of the source that reads one moment. */
  source: Tx;
  schema: string;
  /** The run of the move. */
  runner: string;
  tables: readonly TableShape[];
  onBytes?: (count: number) => void;
  /** Copies all rows, not only those that were noted. */
  whole?: boolean;
  /** Compares all rows afterwards; those that were noted are always compared. */
  compare?: boolean;
  /** Leaves what was noted: no round follows. */
  last?: boolean;
}

/**
 * Runs a round. Both transactions are ended by the caller, the target's first: what was noted is forgotten when it
 * is there. A round that neither copies nor compares all rows costs what the noted rows cost.
 *
 * @param within runs work in a transaction of the target, and ends it
 * @returns the number of rows that were noted, roughly
 * @throws {DomainError} internal where the contents differ; request.invalid where another run reads what is noted
 */
export async function copyRound(
  round: Round,
  within: (work: (target: Tx) => Promise<void>) => Promise<unknown>,
): Promise<number> {
  const { source, schema, runner, tables } = round;
  const assertReader = async (lock: boolean) => {
    if (!await holdsCapture(source, { schema, runner, lock })) throw overtaken();
  };
  await assertReader(false); // the snapshot's first statement
  const noted = await selectNoted(source, schema, tables);
  await within(async (target) => {
    const differing = [
      ...await copyTables(round, target, noted),
      ...await compareTables(round, target),
    ];
    if (differing.length === 0) return;
    throw new DomainError("internal", `the copy differs in ${differing.join(", ")}`);
  });
  if (!round.last) {
    await assertReader(true); // what this run forgets no other one brings over
    await forgetNoted(source, schema, tables.filter(({ name }) => noted.has(name)));
  }
  return [...noted.values()].reduce((sum, count) => sum + count, 0);
}

/** Copies rows; gives the tables in which the noted ones differ afterwards. */
async function copyTables(
  { source, schema, tables, onBytes, whole }: Round,
  target: Tx,
  noted: ReadonlyMap<string, number>,
): Promise<string[]> {
  const copying = { source, target, schema, onBytes };
  if (whole) {
    for (const table of tables) await copyWhole(copying, table);
    return [];
  }
  const differing: string[] = [];
  // Their statements share the two connections, so the time of a round is not that of one table times their number.
  const copied = await Promise.allSettled(tables.map(async (table) => {
    if (table.key.length === 0) await copyWhole(copying, table);
    else if (noted.has(table.name) && !await copyNoted(copying, table)) differing.push(table.name);
  }));
  // All have ended, so none sends a statement behind the end of the transactions.
  const failed = copied.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  return differing;
}

/** Compares the tables whose rows no key was noted of, or all; gives those that differ. */
async function compareTables(
  { source, schema, tables, whole, compare }: Round,
  target: Tx,
): Promise<string[]> {
  const compared = tables.filter(({ key }) => compare || (!whole && key.length === 0));
  const [theirs, ours] = await Promise.all([
    fingerprint(source, schema, compared),
    fingerprint(target, schema, compared),
  ]);
  return theirs.filter((line, i) => line !== ours[i]).map((line) => line.split(" ")[0]);
}
