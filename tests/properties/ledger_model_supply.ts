/**
 * Issuing and destroying on paper, and their reverts: what circulates of a currency changes against
 * the world. All of it is for the currency's owner, who alone of these people writes everything.
 *
 * @module
 */
import {
  type Act,
  availableOf,
  judge,
  type Ledger,
  type ModelMove,
  move,
  type Person,
  refusedFor,
  same,
  type Seen,
  textOf,
  unitsOf,
  withMoved,
  WORLD,
} from "./ledger_model_state.ts";

type Of<K extends Act["kind"]> = Extract<Act, { kind: K }>;

/** The state after an issue or a destruction, if this answer is right. */
export function supply(
  ledger: Ledger,
  by: Person,
  act: Of<"issue" | "destroy">,
  seen: Seen,
): Ledger | null {
  const account = ledger.accounts.get(act.account);
  const amount = unitsOf(act.amount);
  // The currency is the administrator's, who alone of these people writes everything.
  if (!by.reads) return refusedFor(seen, ["currency.not_found"]) ? ledger : null;
  if (!by.writes) return refusedFor(seen, ["permission.owner"]) ? ledger : null;
  const reasons: string[] = [];
  if (account === undefined) reasons.push("account.not_found");
  else {
    if (account.asset !== act.asset) reasons.push("account.asset_mismatch");
    if (amount === null) reasons.push("request.invalid");
    if (!account.active) reasons.push("account.inactive");
    if (act.kind === "destroy") {
      if (account.frozen) reasons.push("account.frozen");
      if (amount !== null && availableOf(account) < amount) reasons.push("balance.insufficient");
    }
  }
  return judge(seen, reasons, () => {
    const [source, destination] = act.kind === "issue"
      ? [WORLD, act.account]
      : [act.account, WORLD];
    const next = withMoved(ledger, { source, destination, amount: amount! });
    const right = seen.status < 300 && seen.body.supply === textOf(next.issued.get(act.asset)!);
    const id = right ? newIssue(ledger, act, seen) : null;
    if (id === null) return null;
    const { kind: type } = act;
    const booked = { type, owner: by.id, source, destination, amount: amount!, reverted: false };
    return { ...next, moves: new Map(next.moves).set(id, booked) };
  }, ledger);
}

/** The one transaction that a currency lists and that was not known; null if it is not this act's. */
function newIssue(ledger: Ledger, act: Of<"issue" | "destroy">, { body }: Seen): string | null {
  // deno-lint-ignore no-explicit-any
  const unknown = body.issuing.filter((one: any) => !ledger.moves.has(one.reference));
  if (unknown.length !== 1) return null;
  const [{ operation, amount, account, reference }] = unknown;
  const due = [act.kind, textOf(unitsOf(act.amount)!), act.account];
  return same([[[operation, amount, account], due]]) ? reference : null;
}

/** Reverting an issue destroys, reverting a destruction issues; both are the currency's owner's. */
export function revertSupply(
  ledger: Ledger,
  by: Person,
  { id, original }: { id: string; original: ModelMove },
  seen: Seen,
): Ledger | null {
  const { source, destination, amount } = original;
  const account = ledger.accounts.get(source === WORLD ? destination : source)!;
  const reasons: string[] = [];
  if (original.reverted || original.type === "revert") reasons.push("transaction.reverted");
  if (!by.writes) {
    const sees = by.reads || account.owner === by.id || original.owner === by.id;
    reasons.push(sees ? "permission.owner" : "transaction.not_found");
  }
  if (!account.active) reasons.push("account.inactive");
  if (source === WORLD) {
    if (account.frozen) reasons.push("account.frozen");
    if (availableOf(account) < amount) reasons.push("balance.insufficient");
  }
  return judge(seen, reasons, () => {
    if (seen.status !== 201) return null;
    const back = { source: destination, destination: source, amount };
    const next = move(ledger, { ...back, type: "revert", reverts: id }, by, seen.body);
    if (next === null) return null;
    return { ...next, moves: new Map(next.moves).set(id, { ...original, reverted: true }) };
  }, ledger);
}
