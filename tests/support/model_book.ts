/**
 * The ledger on paper: its state, the reasons against a move, and a move booked. Written from the
 * contract alone, with bigint in units of 10^-18 and nothing of the service's own code, so that the
 * two can disagree.
 *
 * @module
 */

/** Who calls. */
export interface Person {
  id: string;
  /** Sees, or moves value out of, accounts of others. */
  reads: boolean;
  writes: boolean;
}

/** A move as it is asked for. */
export interface Transfer {
  source: string;
  destination: string;
  value: string;
  asset?: string;
  reference?: string;
  conditions?: {
    source_available_gte?: string;
    source_total_eq?: string;
    destination_total_lte?: string;
  };
}

/** What is asked of the ledger. */
export type Act =
  | { kind: "transfer" } & Transfer
  | { kind: "batch"; atomic: boolean; transactions: Transfer[] }
  | { kind: "block"; account: string; amount: string }
  | { kind: "release"; account: string; block: string }
  | { kind: "capture"; account: string; block: string; destination: string; amount?: string }
  | { kind: "freeze" | "unfreeze" | "deactivate" | "activate" | "read"; account: string }
  | { kind: "issue" | "destroy"; currency: string; asset: string; account: string; amount: string }
  | { kind: "revert"; transaction: string };

/** A call: who asks what, under which idempotency key, and whether it is only tried. */
export interface Call {
  by: Person;
  act: Act;
  key?: string;
  dry?: boolean;
}

/** An answer as it was seen. */
export interface Seen {
  status: number;
  text: string;
  // Answers are looked into freely.
  // deno-lint-ignore no-explicit-any
  body: any;
  replayed: boolean;
  /** It was asked more than once, because nobody could tell whether it was done: see `explain`. */
  repeated?: boolean;
}

/** An account on paper. */
export interface ModelAccount {
  asset: string;
  owner: string;
  total: bigint;
  blocked: bigint;
  frozen: boolean;
  active: boolean;
}

/** A block on paper. */
export interface ModelBlock {
  account: string;
  amount: bigint;
  open: boolean;
}

/** A transaction between two accounts on paper. */
export interface ModelMove {
  type: string;
  owner: string;
  source: string;
  destination: string;
  amount: bigint;
  reverted: boolean;
}

/** The ledger in one state; never changed in place. */
export interface Ledger {
  accounts: ReadonlyMap<string, ModelAccount>;
  blocks: ReadonlyMap<string, ModelBlock>;
  moves: ReadonlyMap<string, ModelMove>;
  references: ReadonlySet<string>;
  /** By user and key: the request, and what it was answered. */
  kept: ReadonlyMap<string, { request: string; status: number; text: string }>;
  /** Per asset: what was issued less what was destroyed. */
  issued: ReadonlyMap<string, bigint>;
  /** Per asset: what one unit is worth in the realm's currency of two places; none where unset. */
  rates: ReadonlyMap<string, string>;
}

const STATUS: Readonly<Record<string, number>> = {
  "request.invalid": 400,
  "permission.owner": 403,
  "permission.role": 403,
  "account.not_found": 404,
  "block.not_found": 404,
  "currency.not_found": 404,
  "transaction.not_found": 404,
  "idempotency.key_reused": 422,
};
const PLACES = 18;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A ledger in which nothing has happened. */
export function emptyLedger(): Ledger {
  return {
    accounts: new Map(),
    blocks: new Map(),
    moves: new Map(),
    references: new Set(),
    kept: new Map(),
    issued: new Map(),
    rates: new Map(),
  };
}

/** Reads a decimal; null where it is finer than 10^-18. */
export function unitsOf(text: string): bigint | null {
  const [whole, fraction = ""] = text.split(".");
  const kept = fraction.replace(/0+$/, "");
  return kept.length > PLACES ? null : BigInt(whole + kept.padEnd(PLACES, "0"));
}

/** Writes an amount as the service does. */
export function textOf(units: bigint): string {
  const sign = units < 0n ? "-" : "";
  const text = (units < 0n ? -units : units).toString().padStart(PLACES + 1, "0");
  const fraction = text.slice(-PLACES).replace(/0+$/, "");
  return sign + text.slice(0, -PLACES) + (fraction === "" ? "" : `.${fraction}`);
}

/** What may leave an account. */
export function availableOf(account: ModelAccount): bigint {
  return account.frozen ? 0n : account.total - account.blocked;
}

/**
 * Judges an answer: refused for one of the reasons that hold, or done because none does. Reasons may
 * overlap; which of them is told is the service's choice.
 */
export function judge(
  seen: Pick<Seen, "status" | "body">,
  reasons: readonly string[],
  done: () => Ledger | null,
  ledger: Ledger,
): Ledger | null {
  if (seen.status >= 400) return refusedFor(seen, reasons) ? ledger : null;
  return reasons.length === 0 ? done() : null;
}

/** Whether an answer refuses for one of these reasons, with the status that goes with it. */
export function refusedFor(
  seen: Pick<Seen, "status" | "body">,
  reasons: readonly string[],
): boolean {
  const code = seen.body?.code;
  return reasons.includes(code) && seen.status === (STATUS[code] ?? 409);
}

/** All reasons that stand against a transfer. */
export function whyNot(ledger: Ledger, by: Person, act: Transfer): string[] {
  const source = ledger.accounts.get(act.source);
  const destination = ledger.accounts.get(act.destination);
  // What one may not see does not exist, whatever else stands against the move.
  if (source === undefined || (!by.reads && source.owner !== by.id)) return ["account.not_found"];
  const reasons: string[] = [];
  if (!by.writes && source.owner !== by.id) reasons.push("permission.owner");
  if (destination === undefined) return [...reasons, "account.not_found"];
  const amount = unitsOf(act.value);
  if (amount === null || source === destination) reasons.push("request.invalid");
  if (source.asset !== destination.asset) reasons.push("account.asset_mismatch");
  if (act.asset !== undefined && act.asset !== source.asset) reasons.push("account.asset_mismatch");
  if (!source.active || !destination.active) reasons.push("account.inactive");
  if (source.frozen) reasons.push("account.frozen");
  if (amount !== null && availableOf(source) < amount) reasons.push("balance.insufficient");
  if (act.reference !== undefined && ledger.references.has(act.reference)) {
    reasons.push("reference.taken");
  }
  const { source_available_gte, source_total_eq, destination_total_lte } = act.conditions ?? {};
  const fails = (source_available_gte !== undefined &&
    availableOf(source) < unitsOf(source_available_gte)!) ||
    (source_total_eq !== undefined && source.total !== unitsOf(source_total_eq)) ||
    (destination_total_lte !== undefined && amount !== null &&
      destination.total + amount > unitsOf(destination_total_lte)!);
  if (fails) reasons.push("condition.failed");
  return reasons;
}

/** A move to be booked. */
export interface Posting {
  source: string;
  destination: string;
  amount: bigint;
  type: string;
  reference?: string;
  reverts?: string;
}

/** Books a move; null where the transaction that was shown is not that one. */
// deno-lint-ignore no-explicit-any
export function move(ledger: Ledger, posting: Posting, by: Person, body: any): Ledger | null {
  const { amount, type } = posting;
  if (!UUID.test(body.id) || ledger.moves.has(body.id)) return null;
  const { source, destination } = posting;
  const booked = { source, destination, amount, type, owner: by.id, reverted: false };
  const moves = new Map(ledger.moves).set(body.id, booked);
  const next = { ...withMoved(ledger, posting), moves };
  return shows(next, posting, by, body) ? next : null;
}

/** The ledger with an amount moved from one account to the other. */
export function withMoved(
  ledger: Ledger,
  { source, destination, amount }: Pick<Posting, "source" | "destination" | "amount">,
): Ledger {
  const total = (id: string) => ledger.accounts.get(id)!.total;
  const less = withAccount(ledger, source, { total: total(source) - amount });
  return withAccount(less, destination, { total: total(destination) + amount });
}

/** The ledger with one of its accounts changed. */
export function withAccount(
  ledger: Ledger,
  id: string,
  change: Partial<ModelAccount>,
): Ledger {
  const accounts = new Map(ledger.accounts);
  return { ...ledger, accounts: accounts.set(id, { ...accounts.get(id)!, ...change }) };
}

/** Whether a transaction is shown as it was booked, with the balances that it left. */
// deno-lint-ignore no-explicit-any
function shows(ledger: Ledger, posting: Posting, by: Person, body: any): boolean {
  const source = ledger.accounts.get(posting.source)!;
  const destination = ledger.accounts.get(posting.destination)!;
  const sees = (account: ModelAccount) =>
    by.reads || account.owner === by.id
      ? { total: textOf(account.total), available: textOf(availableOf(account)) }
      : null;
  return same([
    [body.type, posting.type],
    [body.status, "DONE"],
    [body.asset, source.asset],
    [body.amount, textOf(posting.amount)],
    [[body.source.account, body.source.owner], [posting.source, source.owner]],
    [[body.destination.account, body.destination.owner], [posting.destination, destination.owner]],
    [[body.balances.source?.total, body.balances.source?.available], fieldsOf(sees(source))],
    [
      [body.balances.destination?.total, body.balances.destination?.available],
      fieldsOf(sees(destination)),
    ],
    [body.reference, posting.reference ?? null],
    [body.reverts, posting.reverts],
    [[body.seq, body.hash, body.error], [null, null, null]],
    [body.owner, by.id],
    [body.fiat?.value, fiatOf(ledger.rates.get(source.asset), posting.amount)],
  ]);
}

function fieldsOf(balance: { total: string; available: string } | null) {
  return [balance?.total, balance?.available];
}

/** Whether the two sides of each pair are equal as JSON. */
export function same(pairs: [unknown, unknown][]): boolean {
  return pairs.every(([a, b]) => JSON.stringify(a) === JSON.stringify(b));
}

/** Amount times rate, to two places, a half to the even neighbour. */
function fiatOf(rate: string | undefined, amount: bigint): string | undefined {
  if (rate === undefined) return undefined;
  const unit = 10n ** BigInt(2 * PLACES - 2);
  const exact = amount * unitsOf(rate)!;
  const rest = 2n * (exact % unit);
  const up = rest > unit || (rest === unit && (exact / unit) % 2n === 1n);
  return textOf((exact / unit + (up ? 1n : 0n)) * 10n ** BigInt(PLACES - 2));
}
