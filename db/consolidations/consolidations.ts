/** Statements on consolidations, and on the small coins that they spend. @module */
import type { CoinRow } from "../sending/utxos.ts";
import type { Db, Tx } from "../database.ts";

/** A consolidation as stored. Amounts are decimals in whole units of the asset. */
export interface ConsolidationRow {
  id: string;
  /** The ramp account. */
  account: string;
  chain: string;
  network: string;
  /** The ramp's address. */
  address: string;
  asset: string;
  speed: "slow" | "medium" | "fast";
  /** The limit of its cost; null: only the rate is limited. */
  max_fee: string | null;
  /** The limit for 1000 virtual bytes. */
  max_fee_rate: string;
  /** Coins that it is expected to spend; once it is planned, the number that it spends. */
  coins: number;
  /** The sum of these coins. */
  amount: string;
  /** The highest cost that was expected. */
  estimate: string;
  /** The cost; null until it is planned, and if it failed. */
  fee: string | null;
  /** Virtual bytes of its transaction, as long as there is a fee. */
  size: number | null;
  order_id: string;
  status: "PROCESSING" | "DONE" | "FAILED";
  hash: string | null;
  height: number | null;
  confirmations: number;
  data: Record<string, unknown>;
  owner: string | null;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "account",
  "chain",
  "network",
  "address",
  "asset",
  "speed",
  "max_fee",
  "max_fee_rate",
  "coins",
  "amount",
  "estimate",
  "fee",
  "size",
  "order_id",
  "status",
  "hash",
  "height",
  "confirmations",
  "data",
  "owner",
  "error",
  "updated_at",
  "created_at",
] as const;

/** A new consolidation. */
export type NewConsolidationRow = Omit<
  ConsolidationRow,
  "fee" | "size" | "status" | "hash" | "height" | "confirmations" | "error" | "updated_at"
>;

/** Adds a consolidation; null while another one of the ramp is open. */
export async function insertConsolidation(
  tx: Tx,
  row: NewConsolidationRow,
): Promise<ConsolidationRow | null> {
  const [made] = await tx<ConsolidationRow[]>`
    insert into consolidations ${tx({ ...row, data: tx.json(row.data as never) })}
    on conflict (account) where status = 'PROCESSING' do nothing returning ${tx(COLUMNS)}`;
  return made ?? null;
}

/** Reads a consolidation. */
export async function selectConsolidation(db: Db, id: string): Promise<ConsolidationRow | null> {
  const [row] = await db<ConsolidationRow[]>`
    select ${db(COLUMNS)} from consolidations where id = ${id}`;
  return row ?? null;
}

/** Reads consolidations of a ramp, oldest first, with how many there are. */
export async function selectConsolidations(
  db: Db,
  account: string,
  part: { status: string | null; limit: number; offset: number },
): Promise<{ rows: ConsolidationRow[]; total: number }> {
  const which =
    db`account = ${account} and (${part.status}::text is null or status = ${part.status})`;
  const rows = await db<ConsolidationRow[]>`
    select ${db(COLUMNS)} from consolidations where ${which}
    order by id limit ${part.limit} offset ${part.offset}`;
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count from consolidations where ${which}`;
  return { rows, total: count };
}

/** A change of a consolidation. */
export type ConsolidationChange = Partial<
  Pick<
    ConsolidationRow,
    | "speed"
    | "max_fee"
    | "max_fee_rate"
    | "coins"
    | "amount"
    | "fee"
    | "size"
    | "status"
    | "hash"
    | "height"
    | "confirmations"
    | "error"
  >
>;

/** Changes a consolidation. */
export async function updateConsolidation(
  tx: Tx,
  id: string,
  change: ConsolidationChange,
  at: number,
): Promise<ConsolidationRow> {
  const { error, ...rest } = change;
  const noted = error === undefined ? {} : { error: tx.json(error as never) };
  const [row] = await tx<ConsolidationRow[]>`
    update consolidations set ${tx({ ...rest, ...noted, updated_at: at } as never)}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** The coins that a consolidation may spend. */
export interface SmallCoins {
  chain: string;
  network: string;
  address: string;
  /** Height of the head, which decides whether newly made coins are mature. */
  head: number;
  /** The newest block whose coins count as settled. */
  settled: number;
  /** The cost of spending a coin, in base units; only larger coins are spent. */
  cost: string;
}

/** Counts the smallest coins that are worth spending, at most so many, and adds them up. */
export async function countSmallCoins(
  db: Db,
  of: SmallCoins,
  limit: number,
): Promise<{ count: number; units: string }> {
  const [row] = await db<{ count: number; units: string }[]>`
    select count(*)::integer as count, coalesce(sum(amount), 0)::text as units
    from (select o.amount from coins o where ${worthSpending(db, of)}
      order by o.amount, o.hash, o.index limit ${limit}) as small`;
  return row;
}

/** Reads and locks the smallest coins that are worth spending. */
export async function lockSmallCoins(tx: Tx, of: SmallCoins, limit: number): Promise<CoinRow[]> {
  return await tx<CoinRow[]>`
    select o.hash, o.index, o.address, o.amount::text as amount, o.height::integer as height,
      null::text as parent_fee, null::integer as parent_vsize
    from coins o where ${worthSpending(tx, of)}
    order by o.amount, o.hash, o.index limit ${limit} for update of o`;
}

/**
 * Settled coins without a spender or a reservation: one unsettled coin, lost in a reorganisation, would
 * block the whole transaction. Inputs are looked up by their key, coin by coin; PostgreSQL would plan
 * `not exists` as a join over all of them.
 */
function worthSpending(db: Db, of: SmallCoins) {
  return db`o.chain = ${of.chain} and o.network = ${of.network} and o.address = ${of.address}
    and o.spent_by is null and o.kept is null and o.height <= ${of.settled}
    and (o.matures_at is null or o.matures_at <= ${of.head}) and o.amount > ${of.cost}::numeric
    and (select c.order_id from reserved_inputs c where c.chain = o.chain and c.network = o.network
      and c.input = o.hash || ':' || o.index) is null`;
}
