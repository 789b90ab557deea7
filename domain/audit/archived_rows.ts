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
    const { id, type, source, destination, asset, testnet, amount, reference, reverts } = value;
    // Rows repeat the seals of deposits and of what was written off; others may be large.
    const seal = type === "deposit" || type === "fee" ? value.seal : null;
    const move = { id, type, source, destination, asset, testnet, amount };
    named.push({ ...move, seal, reference, reverts, created_at: value.created_at });
    if (named.length >= COMPARED) await compare();
    yield value;
  }
  await compare();
}
