/**
 * The ledger's statements: moves as arrays into the functions that post them, and their rows back.
 * Arrays are written by hand because this is the hottest path of the service.
 * @module
 */
import type { Db, Tx } from "./database.ts";

/** One move, ready to be posted. Amounts are decimals in whole units of the asset. */
export interface Move {
  /** Transaction id, made by the service; empty until the move departs in a lane. */
  id: string;
  source: string;
  destination: string;
  amount: string;
  /** The user that moves; null for the service itself. */
  actor: string | null;
  /** Whether the actor may move out of accounts of others. */
  any: boolean;
  origin: string | null;
  /** JSON texts, or null. */
  seal: string | null;
  data: string | null;
  reference: string | null;
  /** JSON text with what few moves have: asset, conditions, reverts, address_data. */
  more: string | null;
}

/** A move with the idempotency key it came under. */
export interface KeyedMove extends Move {
  key: string | null;
  fingerprint: string | null;
}

/** A batch that came in one request. */
export interface Bulk {
  moves: readonly Move[];
  /** One refusal refuses all. */
  atomic: boolean;
  /** Never null: a request without a key brings one of its own. */
  key: string;
  fingerprint: string;
  requestId: string;
  /** JSON text of the items that did not come this far, or null; kept for the replay. */
  unresolved: string | null;
  actor: string | null;
  any: boolean;
  origin: string | null;
}

/** How a batch of one request ended. An atomic one with refusals has changed nothing. */
export type BulkOutcome = { outcomes: Outcome[] } | { replay: BulkReplay };

/** What a batch's key stands for; the last three are null where no batch was kept under it. */
export interface BulkReplay extends Replay {
  request: string | null;
  transactions: string[] | null;
  /** Beside each transaction, why it was refused; null where none was. */
  refusals: (string | null)[] | null;
  unresolved: unknown;
}

/** How one move ended. */
export type Outcome =
  | { posted: Posted }
  | { refused: string }
  | { replay: Replay };

/** A posted move's figures. Balances are after the move; blocked is null for a frozen account. */
export interface Posted {
  id: string;
  at: number;
  sourceTotal: string;
  sourceBlocked: string | null;
  destinationTotal: string;
  destinationBlocked: string | null;
  fiatRate: string | null;
  fiatValue: string | null;
}

/** What a key seen before stands for. */
export interface Replay {
  /** Whether the request was the same one. */
  same: boolean;
  status: number | null;
  body: string | null;
  transaction: string | null;
  /** Nobody was answered yet: it is this very request, whose connection to the database was lost. */
  own?: boolean;
}

/** What the posting functions return, as text. */
export interface ApplyRow {
  refusals: string | null;
  source_total: string;
  destination_total: string;
  blocked: string;
  fiat_rate: string | null;
  fiat_value: string | null;
  replays?: Record<string, Replay> | null;
  replay?: BulkReplay | null;
}

const COLUMNS = "refusals::text, source_total::text, destination_total::text, blocked::text, " +
  "fiat_rate::text, fiat_value::text";

/** The statement that posts moves which came one by one, each under its own key. */
export const LANE_STATEMENT = `select ${COLUMNS}, replays from ledger_lane(
  $1::uuid[], $2::uuid[], $3::timestamptz, $4::uuid[], $5::uuid[], $6::int[], $7::int[],
  $8::numeric[], $9::uuid[], $10::boolean[], $11::inet[], $12::jsonb[], $13::jsonb[], $14::text[],
  $15::jsonb[])`;

/** The same as a transaction of its own, in one message: for sessions with none open. */
export const LANE_CALL = `call ledger_lane_now(
  $1::uuid[], $2::uuid[], $3::timestamptz, $4::uuid[], $5::uuid[], $6::int[], $7::int[],
  $8::numeric[], $9::uuid[], $10::boolean[], $11::inet[], $12::jsonb[], $13::jsonb[], $14::text[],
  $15::jsonb[], null, null, null, null, null, null, null)`;

/**
 * The statement that posts a batch of one request. Through text, because the driver would write a
 * boolean's or a document's text once more.
 */
export const BULK_STATEMENT = `select ${COLUMNS}, replay from ledger_bulk(
  $1::uuid, $2::uuid, $3::text, $4::text::jsonb, $5::text::boolean, $6::timestamptz, $7::uuid,
  $8::text::boolean,
  $9::inet, $10::uuid[], $11::uuid[], $12::int[], $13::int[], $14::numeric[], $15::jsonb[],
  $16::jsonb[], $17::text[], $18::jsonb[])`;

/** The arrays of a batch, in the order of the functions' parameters from the accounts onward. */
export interface Arrays {
  /** Distinct account ids, ascending, and each move's 1-based positions in them. */
  sources: number[];
  destinations: number[];
  places: string[];
  /** Made only where each move has its own. */
  people: () => string[];
  extras: string[];
}

/** Writes a batch as PostgreSQL array literals. */
export function arraysOf(moves: readonly Move[]): Arrays {
  const positions = new Map<string, number>();
  for (const move of moves) {
    positions.set(move.source, 0);
    positions.set(move.destination, 0);
  }
  const ids = [...positions.keys()].sort();
  for (let i = 0; i < ids.length; i++) positions.set(ids[i], i + 1);
  const sources = moves.map((move) => positions.get(move.source)!);
  const destinations = moves.map((move) => positions.get(move.destination)!);
  return {
    sources,
    destinations,
    places: [
      `{${ids.join(",")}}`,
      list(moves, (move) => move.id),
      `{${sources.join(",")}}`,
      `{${destinations.join(",")}}`,
      list(moves, (move) => move.amount),
    ],
    people: () => [
      list(moves, (move) => move.actor),
      list(moves, (move) => move.any ? "t" : "f"),
      list(moves, (move) => move.origin),
    ],
    extras: [
      rare(moves, (move) => move.seal),
      rare(moves, (move) => move.data),
      rare(moves, (move) => move.reference),
      rare(moves, (move) => move.more),
    ],
  };
}

function list(moves: readonly Move[], of: (move: Move) => string | null): string {
  let text = "{";
  for (let i = 0; i < moves.length; i++) {
    if (i > 0) text += ",";
    text += of(moves[i]) ?? "NULL";
  }
  return text + "}";
}

/** What few moves have: an empty array stands for nulls alone. */
function rare(moves: readonly Move[], of: (move: Move) => string | null): string {
  return moves.some((move) => of(move) !== null) ? list(moves, (move) => quoted(of(move))) : "{}";
}

/** Writes a batch with its keys, as {@link LANE_STATEMENT} takes it. */
export function laneParameters(
  moves: readonly KeyedMove[],
  at: number,
): { arrays: Arrays; parameters: string[] } {
  const arrays = arraysOf(moves);
  const keys = moves.map((move) => move.key ?? "NULL").join(",");
  const fingerprints = moves.map((move) => move.fingerprint ?? "NULL").join(",");
  return {
    arrays,
    parameters: [
      `{${keys}}`,
      `{${fingerprints}}`,
      new Date(at).toISOString(),
      ...arrays.places,
      ...arrays.people(),
      ...arrays.extras,
    ],
  };
}

/** Writes a batch of one request, as {@link BULK_STATEMENT} takes it. */
export function bulkParameters(
  bulk: Bulk,
  at: number,
): { arrays: Arrays; parameters: (string | null)[] } {
  const arrays = arraysOf(bulk.moves);
  const { key, fingerprint, requestId, unresolved, atomic, actor, any, origin } = bulk;
  return {
    arrays,
    parameters: [
      key,
      fingerprint,
      requestId,
      unresolved,
      atomic ? "t" : "f",
      new Date(at).toISOString(),
      actor,
      any ? "t" : "f",
      origin,
      ...arrays.places,
      ...arrays.extras,
    ],
  };
}

/** Reads how each move of a batch ended. */
export function outcomesOf(
  moves: readonly Move[],
  arrays: Arrays,
  at: number,
  row: ApplyRow,
): Outcome[] {
  if (moves.length === 0) return [];
  const refusals = row.refusals === null ? null : elements(row.refusals);
  const sourceTotals = elements(row.source_total);
  const destinationTotals = elements(row.destination_total);
  const blocked = elements(row.blocked);
  const rates = row.fiat_rate === null ? null : elements(row.fiat_rate);
  const values = row.fiat_value === null ? null : elements(row.fiat_value);
  return moves.map((move, i): Outcome => {
    const replay = row.replays?.[String(i + 1)];
    if (replay !== undefined) return { replay };
    const refused = orNull(refusals?.[i]);
    if (refused !== null) return { refused };
    const rate = orNull(rates?.[i]);
    return {
      posted: {
        id: move.id,
        at,
        sourceTotal: sourceTotals[i],
        sourceBlocked: orNull(blocked[arrays.sources[i] - 1]),
        destinationTotal: destinationTotals[i],
        destinationBlocked: orNull(blocked[arrays.destinations[i] - 1]),
        fiatRate: rate,
        fiatValue: rate === null ? null : values![i],
      },
    };
  });
}

/**
 * Posts moves of one type in the caller's transaction, which holds the gate.
 *
 * @param options.system whether system accounts take part; rights were checked elsewhere then
 * @param options.force whether what already happened elsewhere is booked whatever the accounts' state
 */
export async function applyMoves(
  tx: Tx,
  moves: readonly Move[],
  options: { type: string; at: number; system?: boolean; force?: boolean; atomic?: boolean },
): Promise<Outcome[]> {
  const arrays = arraysOf(moves);
  const [row] = await tx.unsafe<ApplyRow[]>(
    `select ${COLUMNS} from ledger_apply($1::text, $2::boolean, $3::boolean, $4::boolean,
      $5::timestamptz, null, $6::uuid[], $7::uuid[], $8::int[], $9::int[], $10::numeric[],
      $11::uuid[], $12::boolean[], $13::inet[], $14::jsonb[], $15::jsonb[], $16::text[], $17::jsonb[])`,
    [
      options.type,
      options.system ?? false,
      options.force ?? false,
      options.atomic ?? false,
      new Date(options.at).toISOString(),
      ...arrays.places,
      ...arrays.people(),
      ...arrays.extras,
    ],
    { prepare: true },
  );
  return outcomesOf(moves, arrays, options.at, row);
}

/** A transaction with all that its view shows. */
export interface TransactionRow {
  id: string;
  seq: string | null;
  hash: string | null;
  type: string;
  source: string;
  source_owner: string | null;
  source_holder: string | null;
  destination: string;
  destination_owner: string | null;
  destination_holder: string | null;
  asset: string;
  testnet: boolean;
  amount: string;
  fiat_currency: string | null;
  fiat_rate: string | null;
  fiat_value: string | null;
  seal: Record<string, unknown> | null;
  data: Record<string, unknown> | null;
  reference: string | null;
  address_data: Record<string, unknown> | null;
  reverts: string | null;
  source_total: string;
  source_blocked: string | null;
  destination_total: string;
  destination_blocked: string | null;
  owner: string | null;
  /** When the data beside it were changed last. */
  updated_at?: number | null;
  created_at: number;
}

/**
 * Reads transactions with their accounts and the balances that they left. Entries are looked up one by
 * one: in a join the planner may go by the account alone, and read all entries of a busy one.
 */
export async function selectTransactions(db: Db, ids: string[]): Promise<TransactionRow[]> {
  return await db<TransactionRow[]>`
    select t.id, q.seq, encode(q.hash, 'hex') as hash, t.type, t.source, t.destination, t.asset,
      t.testnet, t.amount, t.fiat_currency, t.fiat_rate, t.fiat_value, t.seal, t.reference,
      t.address_data, t.reverts, t.owner, t.created_at, d.data, d.updated_at,
      s.owner as source_owner,
      s.holder as source_holder, e.owner as destination_owner, e.holder as destination_holder,
      se.balance as source_total, se.blocked as source_blocked,
      de.balance as destination_total, de.blocked as destination_blocked
    from transactions t
    join accounts s on s.id = t.source
    join accounts e on e.id = t.destination
    cross join lateral (select x.balance, x.blocked from entries x
      where x.account = t.source and x.seq = t.source_seq offset 0) se
    cross join lateral (select x.balance, x.blocked from entries x
      where x.account = t.destination and x.seq = t.destination_seq offset 0) de
    left join transaction_data d on d.transaction = t.id
    left join seals q on q.transaction = t.id
    where t.id = any (${ids}::uuid[])`;
}

/** Which of these transactions exist: settles what a lost connection left open. */
export async function selectPosted(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db<{ id: string }[]>`
    select id from transactions where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
  return new Set(rows.map((row) => row.id));
}

/** Quotes an array element. */
function quoted(text: string | null): string | null {
  if (text === null) return null;
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Splits an array of numbers, codes or nulls, which never hold a comma or a quote. */
function elements(text: string): string[] {
  return text.slice(1, -1).split(",");
}

function orNull(element: string | undefined): string | null {
  return element === undefined || element === "NULL" ? null : element;
}
