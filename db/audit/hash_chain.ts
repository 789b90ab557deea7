/**
 * Statements of the hash chain: transactions and events without a link, the links, and the head. A
 * process that appends locks the head's row. Posting never touches that row, so it never waits.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import { SHOWN_BESIDE, SHOWN_JOINS, type TransactionRow } from "../ledger/posting.ts";

/** The end of the chain. */
export interface HeadRow {
  seq: string;
  /** Hexadecimal, as everywhere here. */
  hash: string;
}

/** The fields of a transaction that its link covers. */
export interface LinkableTransaction {
  id: string;
  type: string;
  source: string;
  destination: string;
  asset: string;
  testnet: boolean;
  amount: string;
  fiat_currency: string | null;
  fiat_rate: string | null;
  fiat_value: string | null;
  reference: string | null;
  reverts: string | null;
  seal: Record<string, unknown> | null;
  address_data: Record<string, unknown> | null;
  /** The machine key that moved value as the owner. */
  api_key: string | null;
  owner: string | null;
  created_at: number;
}

/** The fields of an event that its link covers. */
export interface LinkableEvent {
  event: string;
  kind: string;
  subject: string;
  facts: Record<string, unknown> | null;
  noted_at: number;
}

/** A transaction or an event, which a link covers. */
export type Linkable = (LinkableTransaction & { event: null }) | LinkableEvent;

/** Number, salt and hash of a link; salt and hash are hexadecimal. */
export interface LinkHash {
  seq: string;
  hash: string;
  salt: string;
  /** The transaction or the event that the link covers. */
  covers: string;
}

/** A link with the row that it covers, or the kind of that row if the row is gone. */
export type LinkRow =
  & LinkHash
  & (
    | Linkable
    | { event: null; id: null; missing: Exclude<Missing, "archived"> }
    | { event: null; id: null; missing: "archived" }
  );

/** The kind of a covered row that is gone; `archived`: a transaction that left with its part. */
export type Missing = "transaction" | "event" | "archived";

const FACTS =
  "t.id, t.type, t.source, t.destination, t.asset, t.testnet, t.amount, t.fiat_currency, " +
  "t.fiat_rate, t.fiat_value, t.reference, t.reverts, t.seal, t.address_data, t.api_key, " +
  "t.owner, t.created_at, null as event";
const EVENT = "e.id as event, e.kind, e.subject, e.facts, e.noted_at";

/** Locks the head of the chain; null while another process appends. */
export async function lockHead(tx: Tx): Promise<HeadRow | null> {
  const [row] = await tx<HeadRow[]>`
    select seq, encode(hash, 'hex') as hash from chain_head for update skip locked`;
  return row ?? null;
}

/**
 * Appends links for the oldest commits of transactions without JSON that nobody is told of, of `limit` links or somewhat
 * more, with all that belongs to it, in one message. Gives their number, whether other commits may wait, and whether
 * lines of the trail do; null while another process appends.
 */
export async function linkPlain(
  db: Db,
  limit: number,
): Promise<{ links: number; more: boolean; trail: boolean } | null> {
  const [row] = await db<{ links: number | null; more: boolean; trail: boolean }[]>`
    select p.links, p.more, p.trail from link_plain(${limit}::integer) p`;
  return row.links === null ? null : { ...row, links: row.links };
}

/** A transaction without a link, with all that its view shows, or an event. */
export type Announced =
  | (LinkableTransaction & Omit<TransactionRow, "seq" | "hash"> & { event: null })
  | LinkableEvent;

/**
 * Reads the next commits to link, of `limit` links or somewhat more, in order of commit; where somebody is told of
 * transactions, with all that their views show.
 */
export async function selectUnlinked(tx: Tx, limit: number): Promise<
  { commits: string[] } & ({ heard: true; rows: Announced[] } | { heard: false; rows: Linkable[] })
> {
  // The size of its arrays bounds from below how many ids a commit holds; arrays of later turns are
  // not read. Who began to listen before one of these commits is seen with it.
  const commits = await tx<
    { id: string; transactions: string; events: string; heard: boolean }[]
  >`
    select c.id, c.transactions::text as transactions, c.events::text as events,
      (select is_heard('transaction.created')) as heard from (
      select q.id, q.transactions, q.events, q.least, sum(q.least) over (order by q.id) as upto
      from (select id, transactions, events, greatest((pg_column_size(transactions) - 24) / 16,
          (pg_column_size(events) - 24) / 8, 1) as least
        from ledger_commits order by id limit ${limit}) q) c
    where c.upto - c.least < ${limit} order by c.id`;
  const found = new Map<string, Linkable>();
  const ids = commits.flatMap((commit) => listed(commit.transactions));
  // A plan that was made while the table was empty must not read through it: each id is looked up.
  const heard = commits[0]?.heard ?? false;
  const shown = heard ? [`, ${SHOWN_BESIDE}`, SHOWN_JOINS] : ["", ""];
  const transactions = ids.length === 0 ? [] : await tx.unsafe<(Linkable & { id: string })[]>(
    `select t.* from unnest($1::text::uuid[]) u(id),
      lateral (select ${FACTS}${shown[0]} from transactions t ${shown[1]}
        where t.id = u.id offset 0) t`,
    [`{${ids.join(",")}}`],
    { prepare: true },
  );
  for (const row of transactions) found.set(row.id, row);
  const noted = commits.flatMap((commit) => listed(commit.events));
  const events = noted.length === 0 ? [] : await tx.unsafe<LinkableEvent[]>(
    `select e.* from unnest($1::text::bigint[]) u(id),
      lateral (select ${EVENT} from ledger_events e where e.id = u.id offset 0) e`,
    [`{${noted.join(",")}}`],
    { prepare: true },
  );
  for (const row of events) found.set(row.event, row);
  const rows = commits.flatMap(({ transactions, events }) =>
    [...listed(transactions), ...listed(events)].map((id) => found.get(id))
  );
  if (rows.includes(undefined)) {
    throw new TypeError("a commit names a transaction or an event that is not there");
  }
  return { commits: commits.map((commit) => commit.id), heard, rows: rows as Announced[] };
}

/** The members of an array of ids or numbers as PostgreSQL writes it. */
function listed(text: string): string[] {
  return text === "{}" ? [] : text.slice(1, -1).split(",");
}

/**
 * Appends links after `from`, deletes the commits that they cover, moves the head, and counts the
 * rows.
 */
export async function insertLinks(
  tx: Tx,
  links: {
    from: bigint;
    rows: readonly Linkable[];
    hashes: readonly string[];
    /** The salts of all links, concatenated, in hexadecimal. */
    salts: string;
    commits: string[];
    /** How many of the transactions each owner made. */
    owners: ReadonlyMap<string, number>;
  },
): Promise<void> {
  const { from, rows, hashes, salts, commits, owners } = links;
  const transactions = rows.map((row) => row.event === null ? row.id : "NULL");
  const events = rows.map((row) => row.event ?? "NULL");
  const moved = rows.filter((row) => row.event === null).length;
  await tx`
    with gone as (delete from ledger_commits where id = any (${`{${
    commits.join(",")
  }}`}::text::bigint[])),
    moved as (update chain_head set seq = ${`${from + BigInt(rows.length)}`},
      transactions = transactions + ${moved}, hash = decode(${hashes.at(-1)!}, 'hex')),
    counted as (insert into row_counts (collection, owner, living, dead)
      select 'transactions', o.id, o.count, 0 from unnest(
        ${`{${[...owners.keys()].join(",")}}`}::text::uuid[],
        ${`{${[...owners.values()].join(",")}}`}::text::bigint[]) o(id, count))
    insert into chain_links (seq, transaction, event, salt, hash)
    select ${`${from}`}::bigint + u.ord, u.id, u.event,
      substr(h.salts, (u.ord * 16 - 15)::integer, 16),
      substr(h.hashes, (u.ord * 32 - 31)::integer, 32)
    from unnest(${`{${transactions.join(",")}}`}::text::uuid[],
        ${`{${events.join(",")}}`}::text::bigint[]) with ordinality u(id, event, ord),
      (select decode(${hashes.join("")}, 'hex') as hashes, decode(${salts}, 'hex') as salts
        offset 0) h`;
}

/**
 * Reads the head of the chain and how many rows have no link yet. The hash is empty if the head's
 * row is gone.
 */
export async function selectHead(db: Db): Promise<HeadRow & { unsealed: string }> {
  const [row] = await db<(HeadRow & { unsealed: string })[]>`
    select coalesce(h.seq, 0)::text as seq, coalesce(encode(h.hash, 'hex'), '') as hash,
      (select coalesce(sum(cardinality(transactions) + cardinality(events)), 0)
        from ledger_commits) as unsealed
    from (values (true)) v left join chain_head h on true`;
  return row;
}

/** Reads the hash of a link; null if there is none. */
export async function selectHash(db: Db, seq: bigint): Promise<string | null> {
  const [row] = await db<{ hash: string }[]>`
    select encode(hash, 'hex') as hash from chain_links where seq = ${`${seq}`}`;
  return row?.hash ?? null;
}

/** Reads links with the rows that they cover, from a number on. */
export async function selectLinks(db: Db, first: bigint, limit: number): Promise<LinkRow[]> {
  type Found = LinkHash & { id: string | null; event: string | null; of: Missing };
  const rows = await db.unsafe<Found[]>(
    `select s.seq, encode(s.hash, 'hex') as hash, encode(s.salt, 'hex') as salt,
        coalesce(s.transaction::text, s.event::text) as covers,
        case when s.event is not null then 'event' when s.transaction < (select bound from archived_parts order by bound desc limit 1)
          then 'archived' else 'transaction' end as of, ${FACTS}
      from chain_links s left join transactions t on t.id = s.transaction
      where s.seq >= $1 order by s.seq limit $2`,
    [`${first}`, limit],
    { prepare: true },
  );
  const noted = rows.filter((row) => row.of === "event").map((row) => row.covers);
  const events = noted.length === 0 ? [] : await db.unsafe<LinkableEvent[]>(
    `select e.* from unnest($1::text::bigint[]) u(id),
      lateral (select ${EVENT} from ledger_events e where e.id = u.id offset 0) e`,
    [`{${noted.join(",")}}`],
    { prepare: true },
  );
  const found = new Map(events.map((row) => [row.event, row]));
  return rows.map(({ of, ...row }) => {
    const event = of === "event" ? found.get(row.covers) : undefined;
    if (event !== undefined) return { ...hashOf(row), ...event };
    if (row.id === null) return { ...hashOf(row), event: null, id: null, missing: of } as LinkRow;
    return row as unknown as LinkRow;
  });
}

function hashOf({ seq, hash, salt, covers }: LinkHash): LinkHash {
  return { seq, hash, salt, covers };
}
