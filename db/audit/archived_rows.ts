/**
 * Comparison of archived transactions, as their files have them, with the rows beside the ledger that name them. What the
 * checks of {@link CHECKS} compare with rows of `transactions` is compared here with those that have left.
 * @module
 */
import type { Tx } from "../database.ts";
import type { LinkableTransaction } from "./hash_chain.ts";

/** A row that says something else than its archived transaction. */
export interface WrongRow {
  subject: string;
  expected: string | null;
  found: string | null;
}

const PAYMENT =
  "jsonb_build_object('chain', d.chain, 'network', d.network, 'hash', d.hash, 'index', d.index)";

/** Rows of a table that name the archived transaction `t`, each looked up by its key: a join would read the whole table. */
function naming(table: string, columns: string): string {
  return `t, lateral (select ${columns} from ${table} where transaction = t.id offset 0)`;
}

const REFERENCE =
  "(select r.reference from transaction_references r where r.transaction = t.id offset 0)";
const REVERTS = "(select r.reverts from transaction_reverts r where r.transaction = t.id offset 0)";

/** Each statement reads the archived transactions `t`, and looks the rows up that name them. */
const COMPARISONS: readonly string[] = [
  // A deposit is of the payment that was credited, and the only one of its transaction.
  `select d.id as subject, concat_ws(' ', 'deposit', d.account, d.credited, ${PAYMENT}) as expected,
      concat_ws(' ', t.type, t.destination, t.amount, t.seal) as found
    from ${naming("deposits", "id, account, credited, chain, network, hash, index")} d
    where (t.type, t.destination, t.amount, t.seal) is distinct from ('deposit', d.account, d.credited, ${PAYMENT})`,
  `select t.id, 'one deposit, or its revert', n.count::text
    from t cross join lateral (select count(*) as count from deposits d where d.transaction = t.id) n
    where t.type = 'deposit' and n.count <> case when watches_addresses(t.destination)
      and (select r.transaction from transaction_reverts r where r.reverts = t.id offset 0) is not null then 0 else 1 end`,
  `select w.id, concat_ws(' ', 'withdrawal', w.account, w.ramp, w.charged - w.surcharge),
      concat_ws(' ', t.type, t.source, t.destination, t.amount)
    from ${naming("withdrawals", "id, account, ramp, charged, surcharge")} w
    where (t.type, t.source, t.destination, t.amount)
      is distinct from ('withdrawal', w.account, w.ramp, w.charged - w.surcharge)`,
  `select b.id, concat_ws(' ', 'capture', b.account, b.captured), concat_ws(' ', t.type, t.source, t.amount)
    from ${naming("blocks", "id, account, captured")} b
    where (t.type, t.source, t.amount) is distinct from ('capture', b.account, b.captured)`,
  // What was written off, and the comparison by which it was; rows of no other transaction.
  `select t.id, concat_ws(' ', t.type, t.asset, t.testnet, t.amount, ms_time(t.created_at), t.seal),
      concat_ws(' ', w.asset, w.testnet, w.amount, w.created_at, w.said)
    from t left join lateral (select x.*, write_off_seal(x) as said from write_offs x
      where x.transaction = t.id offset 0) w on true
    where case when t.type = 'fee' and t.seal ? 'writes_off'
      then (w.asset, w.testnet, w.amount, w.created_at, w.said)
        is distinct from (t.asset, t.testnet, t.amount, ms_time(t.created_at), t.seal - 'reason')
      else w.transaction is not null end`,
  `select t.id, t.reference, ${REFERENCE} from t where t.reference is distinct from ${REFERENCE}`,
  `select t.id, t.reverts::text, ${REVERTS}::text from t where t.reverts is distinct from ${REVERTS}`,
];

/** Of an archived transaction, what rows that name it repeat. */
export type NamedTransaction =
  & Pick<LinkableTransaction, "id" | "type" | "source" | "destination" | "asset" | "testnet">
  & Pick<LinkableTransaction, "amount" | "seal" | "reference" | "reverts" | "created_at">;

/** Finds the rows that name archived transactions and say something else, and counts those that are not listed too. */
export async function selectWrongRows(
  tx: Tx,
  archived: readonly NamedTransaction[],
  limit: number,
): Promise<(WrongRow & { count: number })[]> {
  return await tx.unsafe<(WrongRow & { count: number })[]>(
    `with t as materialized (select * from jsonb_to_recordset($1::text::jsonb) as t(id uuid, type text,
        source uuid, destination uuid, asset text, testnet boolean, amount numeric, seal jsonb, reference text,
        reverts uuid, created_at bigint))
      select subject::text as subject, expected, found, count(*) over ()::integer as count
      from (${COMPARISONS.join(" union all ")}) q limit ${limit}`,
    [JSON.stringify(archived)],
  );
}
