/** One round of a move: brings a copy of a realm to the state of one moment of its source. @module */
import type { Tx } from "../../db/database.ts";
import { forgetNoted, selectNoted } from "../../db/moves/capture.ts";
import { copyNoted, copyWhole } from "../../db/moves/copying.ts";
import { fingerprint, type TableShape } from "../../db/moves/tables.ts";
import { DomainError } from "../../domain/errors.ts";

/** A round. */
export interface Round {
  /** A transaction of the source that reads one moment. */
  source: Tx;
  schema: string;
  tables: readonly TableShape[];
  onBytes?: (count: number) => void;
  /** Copies all rows, not only those that were noted. */
  whole?: boolean;
  /** The tables whose contents are compared after it. */
  compare?: "all" | "small";
}

/** Tables up to this size are compared while the realm takes no writes. */
const SMALL_BYTES = 4 * 2 ** 20;

/**
 * Runs a round. Both transactions are ended by the caller, the target's first: what was noted is forgotten when it
 * is there.
 *
 * @param within runs work in a transaction of the target, and ends it
 * @returns the number of rows that were noted, roughly
 * @throws {DomainError} internal where the contents differ
 */
export async function copyRound(
  round: Round,
  within: (work: (target: Tx) => Promise<void>) => Promise<unknown>,
): Promise<number> {
  const { source, schema, tables, onBytes } = round;
  const noted = await selectNoted(source, schema, tables); // the snapshot's first statement
  await within(async (target) => {
    const copying = { source, target, schema, onBytes };
    for (const table of tables) {
      if (round.whole || table.key.length === 0) await copyWhole(copying, table);
      else if (noted.has(table.name)) await copyNoted(copying, table);
    }
    if (round.compare === undefined) return;
    const compared = tables.filter(({ bytes }) => round.compare === "all" || bytes <= SMALL_BYTES);
    const [theirs, ours] = await Promise.all([
      fingerprint(source, schema, compared),
      fingerprint(target, schema, compared),
    ]);
    const differing = theirs.filter((line, i) => line !== ours[i]).map((line) =>
      line.split(" ")[0]
    );
    if (differing.length === 0) return;
    throw new DomainError("internal", `the copy differs in ${differing.join(", ")}`);
  });
  await forgetNoted(source, schema, tables.filter(({ name }) => noted.has(name)));
  return [...noted.values()].reduce((sum, count) => sum + count, 0);
}
