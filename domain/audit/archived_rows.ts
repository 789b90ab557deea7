/** Archived transactions on their way to the hash chain, compared with the rows beside the ledger that name them. @module */
import {
  type NamedTransaction,
  selectWrongRows,
  type WrongRow,
} from "../../db/audit/archived_rows.ts";
import type { LinkableTransaction } from "../../db/audit/hash_chain.ts";
import type { Tx } from "../../db/database.ts";
import type { ArchivedRows } from "./hash_chain.ts";

/** Transactions that are compared at once: some of the tables are read as a whole for it. */
const COMPARED = 10_000;

/** Passes archived transactions on, and tells of the rows that name them and say something else. */
export async function* comparing(
  tx: Tx,
  archive: ArchivedRows,
  tell: (wrong: readonly WrongRow[]) => void,
): AsyncGenerator<LinkableTransaction> {
  let named: NamedTransaction[] = [];
  const compare = async () => {
    const some = named;
    named = [];
    if (some.length > 0) tell(await selectWrongRows(tx, some));
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
