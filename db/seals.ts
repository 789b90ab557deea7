/**
 * Statements of the chain of hashes: what is posted and not sealed yet, the seals, and their head.
 * Whoever seals holds the head's row; posting never touches it, and so never waits.
 * @module
 */
import type { Db, Tx } from "./database.ts";

/** The end of the chain. */
export interface HeadRow {
  seq: string;
  /** Hexadecimal, as everywhere here. */
  hash: string;
}

/** What a transaction's sealed form is made of. */
export interface SealableRow {
  id: string;
  type: string;
  source: string;
  destination: string;
  asset: string;
  amount: string;
  fiat_currency: string | null;
  fiat_rate: string | null;
  fiat_value: string | null;
  reference: string | null;
  reverts: string | null;
  seal: Record<string, unknown> | null;
  address_data: Record<string, unknown> | null;
  owner: string | null;
  created_at: number;
}

/** A sealed transaction; its facts are null where the transaction itself is missing. */
export type SealedRow =
  & { seq: string; hash: string; sealed: string }
  & (SealableRow | { id: null });

const FACTS = "t.id, t.type, t.source, t.destination, t.asset, t.amount, t.fiat_currency, " +
  "t.fiat_rate, t.fiat_value, t.reference, t.reverts, t.seal, t.address_data, t.owner, t.created_at";

/** Locks the head of the chain; null while another process seals. */
export async function lockHead(tx: Tx): Promise<(HeadRow & { heard: boolean }) | null> {
  const [row] = await tx<(HeadRow & { heard: boolean })[]>`
    select seq, encode(hash, 'hex') as hash, exists (select 1 from event_listeners
      where type = 'transaction.created' and until > now()) as heard
    from seal_head for update of seal_head skip locked`;
  return row ?? null;
}

/** Reads the next commits to seal, of `limit` transactions or somewhat more, in order of commit. */
export async function selectUnsealed(
  tx: Tx,
  limit: number,
): Promise<{ commits: string[]; rows: SealableRow[] }> {
  // How many a commit holds is told by its size, at the least, without reading those of later turns.
  const commits = await tx<{ id: string; transactions: string }[]>`
    select c.id, c.transactions::text as transactions from (
      select q.id, q.transactions, q.least, sum(q.least) over (order by q.id) as upto
      from (select id, transactions, greatest((pg_column_size(transactions) - 24) / 16, 1) as least
        from ledger_commits order by id limit ${limit}) q) c
    where c.upto - c.least < ${limit} order by c.id`;
  if (commits.length === 0) return { commits: [], rows: [] };
  const ids = commits.flatMap((commit) => commit.transactions.slice(1, -1).split(","));
  const found = new Map<string, SealableRow>();
  // Asked for as a set, so that one walk along the index finds them all.
  const rows = await tx.unsafe<SealableRow[]>(
    `select ${FACTS} from transactions t where t.id = any ($1::text::uuid[])`,
    [`{${ids.join(",")}}`],
    { prepare: true },
  );
  for (const row of rows) found.set(row.id, row);
  const ordered = ids.map((id) => found.get(id));
  if (ordered.includes(undefined)) {
    throw new TypeError("a commit names a transaction that is not there");
  }
  return { commits: commits.map((commit) => commit.id), rows: ordered as SealableRow[] };
}

/** Appends seals after `from`, forgets the commits that they cover, moves the head, and tallies. */
export async function insertSeals(
  tx: Tx,
  seals: {
    from: bigint;
    transactions: readonly string[];
    hashes: readonly string[];
    commits: string[];
    /** How many of them each owner made. */
    owners: ReadonlyMap<string, number>;
  },
): Promise<void> {
  await tx`
    with gone as (delete from ledger_commits where id = any (${`{${
    seals.commits.join(",")
  }}`}::text::bigint[])),
    moved as (update seal_head set seq = ${`${seals.from + BigInt(seals.transactions.length)}`},
      hash = decode(${seals.hashes.at(-1)!}, 'hex')),
    tallied as (insert into tallies (collection, owner, living, dead)
      select 'transactions', o.id, o.count, 0 from unnest(
        ${`{${[...seals.owners.keys()].join(",")}}`}::text::uuid[],
        ${`{${[...seals.owners.values()].join(",")}}`}::text::bigint[]) o(id, count))
    insert into seals (seq, transaction, hash)
    select ${`${seals.from}`}::bigint + u.ord, u.id, substr(h.all, (u.ord * 32 - 31)::integer, 32)
    from unnest(${`{${seals.transactions.join(",")}}`}::text::uuid[]) with ordinality u(id, ord),
      (select decode(${seals.hashes.join("")}, 'hex') as all offset 0) h`;
}

/** Reads the head of the chain and how many transactions wait behind it. */
export async function selectHead(db: Db): Promise<HeadRow & { unsealed: string }> {
  const [row] = await db<(HeadRow & { unsealed: string })[]>`
    select seq, encode(hash, 'hex') as hash,
      (select coalesce(sum(cardinality(transactions)), 0) from ledger_commits) as unsealed
    from seal_head`;
  return row;
}

/** Reads one seal's hash; null where there is none. */
export async function selectHash(db: Db, seq: bigint): Promise<string | null> {
  const [row] = await db<{ hash: string }[]>`
    select encode(hash, 'hex') as hash from seals where seq = ${`${seq}`}`;
  return row?.hash ?? null;
}

/** Reads seals with what they seal, from a number on. */
export async function selectSealed(db: Db, first: bigint, limit: number): Promise<SealedRow[]> {
  return await db.unsafe<SealedRow[]>(
    `select s.seq, encode(s.hash, 'hex') as hash, s.transaction as sealed, ${FACTS}
      from seals s left join transactions t on t.id = s.transaction
      where s.seq >= $1 order by s.seq limit $2`,
    [`${first}`, limit],
    { prepare: true },
  );
}
