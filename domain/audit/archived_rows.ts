/** Archived transactions on their way to the hash chain, compared with the rows beside the ledger that name them. @module */
import {
  type NamedTransaction,
  selectWrongRows,
  type WrongRow,
} from "../../db/audit/archived_rows.ts";
import type { LinkableTransaction } from "../../db/audit/hash_chain.ts";
import type { Tx } from "../../db/database.ts";
import type { ArchivedRows } from "./hash_chain.ts";

/** Transactions that are compared at once. */
const COMPARED = 1_000;

/** Rows that differ from their archived transactions: those that are listed, and how many there are. */
export interface WrongRows {
  readonly listed: WrongRow[];
  count: number;
}

/**
 * Passes archived transactions on, and adds up the rows that name them and say something else.
 *
 * @param most how many of them are listed
 */
export async function* comparing(
  tx: Tx,
  archive: ArchivedRows,
  wrong: WrongRows,
  most: number,
): AsyncGenerator<LinkableTransaction> {
  let named: NamedTransaction[] = [];
  const compare = async () => {
    const some = named;
    named = [];
    if (some.length === 0) return;
    const found = await selectWrongRows(tx, some, most);
    wrong.count += found[0]?.count ?? 0;
    for (const { subject, expected, found: seen } of found.slice(0, most - wrong.listed.length)) {
      wrong.listed.push({ subject, expected, found: seen });
    }
  };
  for (;;) {
    const { done, value } = await archive.next();
    if (done) break;
    const { id, type, source, destination, amount, seal, reference, reverts } = value;
    // Of other kinds than deposits no row repeats the seal, which may be large.
    const payment = type === "deposit" ? seal : null;
    named.push({ ...{ id, type, source, destination, amount, reference, reverts }, seal: payment });
    if (named.length >= COMPARED) await compare();
    yield value;
  }
  await compare();
}
