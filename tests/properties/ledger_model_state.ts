/**
 * The ledger on paper: its state, the reasons against a move, and a move booked. Written from the
 * contract alone, with bigint in units of 10^-18 and nothing of the service's own code, so that the
 * two can disagree.
 *
 * @module
 */

/** The caller. */
export interface Person {
  id: string;
  /** Sees, or moves value out of, accounts of others. */
  reads: boolean;
  writes: boolean;
}

/** How the parties of a move are named if not by account id. */
export interface Named {
  source?: "alias";
  destination?: "alias" | "address";
}

/** A requested move. Its parties are accounts, however they are named. */
export interface Transfer {
  named?: Named;
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

/** A request to the ledger. */
export type Act =
  | { kind: "transfer" } & Transfer
  | { kind: "batch"; atomic: boolean; transactions: Transfer[] }
  /** `due` is the age of the fixture's clock from which on the block is over. */
  | { kind: "block"; account: string; amount: string; due?: number; expires_at?: number }
  | { kind: "release"; account: string; block: string }
  | {
    kind: "capture";
    account: string;
    block: string;
    destination: string;
    named?: Named;
    amount?: string;
  }
  | { kind: "freeze" | "unfreeze" | "deactivate" | "activate" | "read"; account: string }
  | { kind: "issue" | "destroy"; currency: string; asset: string; account: string; amount: string }
  | { kind: "revert"; transaction: string }
  /** The service expires blocks at an age. */
  | { kind: "expire"; age: number };

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
  /** Age of the fixture's clock when it was sent, and when it was answered; the same unless told. */
  ages?: readonly [number, number];
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
  /** Frozen by the realm, which alone unfreezes it then. */
  frozenByRealm?: boolean;
  active: boolean;
}

/** A block on paper. */
export interface ModelBlock {
  account: string;
  amount: bigint;
  open: boolean;
  /** The user who opened it. */
  by: string;
  /** The age from which on it is over. */
  due?: number;
}

/** The other side of what is issued and destroyed. */
export const WORLD = "world";

/** A transaction between two accounts on paper, or between one and the world. */
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
  "address.not_found": 404,
  "alias.not_found": 404,
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

/** The value that may leave an account. */
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

/**
 * The answers about endpoints that do not exist, by how they are named. A source that the caller may not see does not
 * exist, however it is named.
 */
export function lostEndpoints(
  ledger: Ledger,
  by: Person,
  { source, destination, named }: Pick<Transfer, "source" | "destination" | "named">,
): string[] {
  const lost: string[] = [];
  const found = ledger.accounts.get(source);
  if (found === undefined) lost.push(`${named?.source ?? "account"}.not_found`);
  else if (!by.reads && found.owner !== by.id) lost.push("account.not_found");
  if (!ledger.accounts.has(destination)) lost.push(`${named?.destination ?? "account"}.not_found`);
  return lost;
}

/** All reasons that stand against a transfer. */
export function whyNot(ledger: Ledger, by: Person, act: Transfer): string[] {
  const source = ledger.accounts.get(act.source);
  const destination = ledger.accounts.get(act.destination);
  const lost = lostEndpoints(ledger, by, act);
  // Whatever else stands against the move.
  if (source === undefined || (!by.reads && source.owner !== by.id)) return lost;
  const reasons: string[] = [];
  if (!by.writes && source.owner !== by.id) reasons.push("permission.owner");
  if (destination === undefined) return [...reasons, ...lost];
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
  if (destination_total_lte !== undefined && !by.reads && destination.owner !== by.id) {
    reasons.push("permission.owner");
  }
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

/** The ledger with an amount moved from one account to the other, either of which may be the world. */
export function withMoved(
  ledger: Ledger,
  { source, destination, amount }: Pick<Posting, "source" | "destination" | "amount">,
): Ledger {
  let next = ledger;
  for (const [id, change] of [[source, -amount], [destination, amount]] as const) {
    if (id === WORLD) next = withIssued(next, source === WORLD ? destination : source, -change);
    else next = withAccount(next, id, { total: next.accounts.get(id)!.total + change });
  }
  return next;
}

/** The ledger with more, or less, of an account's asset in circulation. */
function withIssued(ledger: Ledger, account: string, change: bigint): Ledger {
  const { asset } = ledger.accounts.get(account)!;
  const issued = new Map(ledger.issued);
  return { ...ledger, issued: issued.set(asset, issued.get(asset)! + change) };
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
  const { source, destination } = posting;
  const { asset } = ledger.accounts.get(source === WORLD ? destination : source)!;
  return showsSide(ledger, source, asset, by, [body.source, body.balances.source]) &&
    showsSide(ledger, destination, asset, by, [body.destination, body.balances.destination]) &&
    same([
      [body.type, posting.type],
      [body.status, "DONE"],
      [body.asset, asset],
      [body.amount, textOf(posting.amount)],
      [body.reference, posting.reference ?? null],
      [body.reverts, posting.reverts],
      [[body.seq, body.hash, body.error], [null, null, null]],
      [body.owner, by.id],
      [body.fiat?.value, fiatOf(ledger.rates.get(asset), posting.amount)],
    ]);
}

/** Whether a side is shown as it is, with its balance for those who may see it. */
function showsSide(
  ledger: Ledger,
  id: string,
  asset: string,
  by: Person,
  // deno-lint-ignore no-explicit-any
  [side, balance]: [any, any],
): boolean {
  const account = ledger.accounts.get(id);
  if (account === undefined) { // the world
    const total = textOf(-ledger.issued.get(asset)!);
    return side.owner === null && !ledger.accounts.has(side.account) &&
      same([[fieldsOf(balance), by.reads ? [total, total] : []]]);
  }
  const shown = by.reads || account.owner === by.id
    ? [textOf(account.total), textOf(availableOf(account))]
    : [];
  return same([
    [[side.account, side.owner], [id, account.owner]],
    [fieldsOf(balance), shown],
  ]);
}

function fieldsOf(balance: { total: string; available: string } | null): string[] {
  return balance === null ? [] : [balance.total, balance.available];
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
