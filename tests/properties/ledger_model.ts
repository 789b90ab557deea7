/**
 * The ledger on paper: whether an answer is right in a given state, and the state that it leaves.
 * A refusal must have had a reason, a success none, and every shown balance must
 * equal the booked one.
 *
 * @module
 */
import {
  type Act,
  availableOf,
  type Call,
  judge,
  type Ledger,
  lostEndpoints,
  type ModelAccount,
  type ModelBlock,
  move,
  type Person,
  refusedFor,
  same,
  type Seen,
  textOf,
  type Transfer,
  unitsOf,
  whyNot,
  withAccount,
  withMoved,
  WORLD,
} from "./ledger_model_state.ts";
import { revertSupply, supply } from "./ledger_model_supply.ts";

type Of<K extends Act["kind"]> = Extract<Act, { kind: K }>;

/**
 * The state after a call, if this answer is right in this state; null if it is not. A call that was
 * repeated until it was answered may be told of as a repeat, though it is the first to be answered.
 */
export function explain(ledger: Ledger, call: Call, seen: Seen): Ledger | null {
  if (call.key === undefined || call.dry) {
    if (seen.replayed) return null;
    const next = perform(ledger, call, seen);
    return next !== null && call.dry ? ledger : next;
  }
  const name = `${call.by.id} ${call.key}`;
  const request = JSON.stringify(call.act);
  const kept = ledger.kept.get(name);
  if (kept !== undefined) {
    const right = kept.request !== request
      ? refusedFor(seen, ["idempotency.key_reused"])
      : (seen.replayed || seen.repeated === true) &&
        seen.status === kept.status && seen.text === kept.text;
    return right ? ledger : null;
  }
  const next = seen.replayed && !seen.repeated ? null : perform(ledger, call, seen);
  if (next === null) return null;
  const { status, text } = seen;
  return { ...next, kept: new Map(next.kept).set(name, { request, status, text }) };
}

function perform(ledger: Ledger, { by, act }: Call, seen: Seen): Ledger | null {
  switch (act.kind) {
    case "transfer":
      return transfer(ledger, by, act, seen);
    case "batch":
      return act.atomic
        ? atomicBatch(ledger, by, act.transactions, seen)
        : looseBatch(ledger, by, act.transactions, seen);
    case "block":
      return block(ledger, by, act, seen);
    case "release":
      return release(ledger, by, act, seen);
    case "capture":
      return capture(ledger, by, act, seen);
    case "issue":
    case "destroy":
      return supply(ledger, by, act, seen);
    case "revert":
      return revert(ledger, by, act.transaction, seen);
    case "expire":
      return expire(ledger, act.age, seen);
    case "read":
      return read(ledger, by, act.account, seen);
    default:
      return switchState(ledger, by, act, seen);
  }
}

function transfer(
  ledger: Ledger,
  by: Person,
  act: Transfer,
  seen: Pick<Seen, "status" | "body">,
): Ledger | null {
  const reasons = whyNot(ledger, by, act);
  return judge(seen, reasons, () => {
    if (seen.status !== 201) return null;
    const amount = unitsOf(act.value)!;
    const next = move(ledger, { ...act, amount, type: "transfer" }, by, seen.body);
    if (next === null || act.reference === undefined) return next;
    return { ...next, references: new Set(next.references).add(act.reference) };
  }, ledger);
}

/** The state after a transfer that nothing stands against. */
function suppose(ledger: Ledger, act: Transfer): Ledger {
  const next = withMoved(ledger, { ...act, amount: unitsOf(act.value)! });
  if (act.reference === undefined) return next;
  return { ...next, references: new Set(next.references).add(act.reference) };
}

function atomicBatch(
  ledger: Ledger,
  by: Person,
  transactions: readonly Transfer[],
  seen: Seen,
): Ledger | null {
  if (seen.status >= 400) {
    const { index } = seen.body;
    if (!(index >= 0 && index < transactions.length)) return null;
    // Whom an item names may be looked up before anything is booked.
    const lost = lostEndpoints(ledger, by, transactions[index]);
    if (lost.length > 0) return refusedFor(seen, lost) ? ledger : null;
    let state = ledger;
    for (const one of transactions.slice(0, index)) {
      if (whyNot(state, by, one).length > 0) return null;
      state = suppose(state, one);
    }
    return refusedFor(seen, whyNot(state, by, transactions[index])) ? ledger : null;
  }
  if (seen.status !== 201 || seen.body.results.length !== transactions.length) return null;
  return looseBatch(ledger, by, transactions, { ...seen, status: 200 }, true);
}

function looseBatch(
  ledger: Ledger,
  by: Person,
  transactions: readonly Transfer[],
  seen: Seen,
  all = false,
): Ledger | null {
  if (seen.status !== 200 || seen.body.results.length !== transactions.length) return null;
  let next: Ledger | null = ledger;
  for (const [index, one] of transactions.entries()) {
    const body = seen.body.results[index];
    const done = body.status === "DONE";
    if (all && !done) return null;
    next = transfer(next, by, one, { status: done ? 201 : body.status, body });
    if (next === null) return null;
  }
  return next;
}

/** Why somebody may not write an account; empty where nothing stands against it. */
function whyNotWrite(ledger: Ledger, by: Person, id: string): string[] {
  const account = ledger.accounts.get(id);
  if (account === undefined || (!by.reads && account.owner !== by.id)) {
    return ["account.not_found"];
  }
  return by.writes || account.owner === by.id ? [] : ["permission.owner"];
}

function block(ledger: Ledger, by: Person, act: Of<"block">, seen: Seen): Ledger | null {
  const reasons = whyNotWrite(ledger, by, act.account);
  const account = ledger.accounts.get(act.account);
  const amount = unitsOf(act.amount);
  if (reasons.length === 0) {
    if (amount === null) reasons.push("request.invalid");
    if (!account!.active) reasons.push("account.inactive");
    if (account!.frozen) reasons.push("account.frozen");
    if (amount !== null && availableOf(account!) < amount) reasons.push("balance.insufficient");
  }
  // Its time may have been over when it was asked for.
  const late = act.due !== undefined && seen.ages![1] >= act.due;
  if (late && refusedFor(seen, ["request.invalid"])) return ledger;
  return judge(seen, reasons, () => {
    const { id } = seen.body;
    const right = seen.status === 201 && !ledger.blocks.has(id) && same([
      [seen.body.amount, textOf(amount!)],
      [[seen.body.account, seen.body.status, seen.body.captured], [act.account, "OPEN", "0"]],
      [seen.body.expires_at, act.expires_at ?? null],
    ]);
    if (!right) return null;
    const opened = {
      account: act.account,
      amount: amount!,
      open: true,
      by: by.id,
      due: act.due,
    };
    const next = withAccount(ledger, act.account, { blocked: account!.blocked + amount! });
    return { ...next, blocks: new Map(next.blocks).set(id, opened) };
  }, ledger);
}

/** Why somebody may not close a block, whose time may be over. */
function whyNotClose(
  ledger: Ledger,
  by: Person,
  act: { account: string; block: string },
  over: boolean,
): string[] {
  const reasons = whyNotWrite(ledger, by, act.account);
  if (reasons.length > 0) return reasons;
  const opened = ledger.blocks.get(act.block);
  if (opened === undefined || opened.account !== act.account) return ["block.not_found"];
  if (!opened.open || over) return ["block.closed"];
  return by.writes || opened.by === by.id ? [] : ["permission.owner"];
}

/**
 * Whether a block's time was over for a call. A call may read the clock any time before it is
 * answered, so that both can be true of one that was on its way when the time was over.
 */
function overFor(block: ModelBlock | undefined, { ages }: Seen): boolean[] {
  if (block?.due === undefined) return [false];
  const [sent, answered] = ages!;
  return [sent >= block.due, answered >= block.due];
}

/** The first state of several that is one. */
function either<T>(cases: readonly T[], judged: (one: T) => Ledger | null): Ledger | null {
  for (const one of cases) {
    const next = judged(one);
    if (next !== null) return next;
  }
  return null;
}

/** Closes every expired block, and nothing else. */
function expire(ledger: Ledger, age: number, seen: Seen): Ledger | null {
  const over = [...ledger.blocks].filter(([, { open, due }]) => open && due! <= age);
  if (seen.body.expired !== over.length) return null;
  return over.reduce((next, [id]) => close(next, id), ledger);
}

function close(ledger: Ledger, id: string): Ledger {
  const opened = ledger.blocks.get(id)!;
  const { blocked } = ledger.accounts.get(opened.account)!;
  const next = withAccount(ledger, opened.account, { blocked: blocked - opened.amount });
  return { ...next, blocks: new Map(next.blocks).set(id, { ...opened, open: false }) };
}

function release(ledger: Ledger, by: Person, act: Of<"release">, seen: Seen): Ledger | null {
  return either(
    overFor(ledger.blocks.get(act.block), seen),
    (over) =>
      judge(seen, whyNotClose(ledger, by, act, over), () => {
        const right = seen.status === 200 && seen.body.status === "RELEASED";
        return right ? close(ledger, act.block) : null;
      }, ledger),
  );
}

function capture(ledger: Ledger, by: Person, act: Of<"capture">, seen: Seen): Ledger | null {
  return either(
    overFor(ledger.blocks.get(act.block), seen),
    (over) => captureWhen(ledger, by, act, { seen, over }),
  );
}

function captureWhen(
  ledger: Ledger,
  by: Person,
  act: Of<"capture">,
  { seen, over }: { seen: Seen; over: boolean },
): Ledger | null {
  const reasons = whyNotClose(ledger, by, act, over);
  const opened = ledger.blocks.get(act.block);
  const amount = act.amount === undefined ? opened?.amount ?? null : unitsOf(act.amount);
  const { account: source, destination, named } = act;
  if (reasons.length === 0) {
    if (amount === null || amount > opened!.amount) reasons.push("request.invalid");
    // The captured value is free for this one move, so it covers itself.
    const one = { source, destination, named, value: textOf(amount ?? 1n) };
    const freed = close(ledger, act.block);
    const others = whyNot(freed, by, one).filter((why) => why !== "balance.insufficient");
    reasons.push(...others);
  }
  return judge(seen, reasons, () => {
    if (seen.status !== 201) return null;
    const posting = { source, destination, amount: amount!, type: "capture" };
    return move(close(ledger, act.block), posting, by, seen.body);
  }, ledger);
}

function switchState(
  ledger: Ledger,
  by: Person,
  { kind, account: id }: Of<"freeze" | "unfreeze" | "deactivate" | "activate" | "read">,
  seen: Seen,
): Ledger | null {
  const reasons = whyNotWrite(ledger, by, id);
  const account = ledger.accounts.get(id);
  if (reasons.length === 0 && kind === "deactivate") {
    if (account!.total !== 0n || account!.blocked !== 0n) reasons.push("account.not_empty");
  }
  if (reasons.length === 0 && kind === "unfreeze" && account!.frozenByRealm && !by.writes) {
    reasons.push("permission.owner");
  }
  return judge(seen, reasons, () => {
    const change: Partial<ModelAccount> = kind === "freeze" || kind === "unfreeze"
      ? {
        frozen: kind === "freeze",
        frozenByRealm: kind === "freeze" && (by.writes || account!.frozenByRealm === true),
      }
      : { active: kind === "activate" };
    const next = withAccount(ledger, id, change);
    return seen.status < 300 && showsAccount(next, id, seen) ? next : null;
  }, ledger);
}

function showsAccount(ledger: Ledger, id: string, { body }: Seen): boolean {
  const account = ledger.accounts.get(id)!;
  return same([
    [body.balance.total, textOf(account.total)],
    [body.balance.available, textOf(availableOf(account))],
    [[body.id, body.frozen, body.active], [id, account.frozen, account.active]],
  ]);
}

function read(ledger: Ledger, by: Person, id: string, seen: Seen): Ledger | null {
  const [why] = whyNotWrite(ledger, by, id);
  const reasons = why === "account.not_found" ? [why] : [];
  return judge(
    seen,
    reasons,
    () => seen.status === 200 && showsAccount(ledger, id, seen) ? ledger : null,
    ledger,
  );
}

function revert(ledger: Ledger, by: Person, id: string, seen: Seen): Ledger | null {
  const original = ledger.moves.get(id);
  if (original === undefined) {
    return refusedFor(seen, ["transaction.not_found"]) ? ledger : null;
  }
  const { source, destination, amount, type } = original;
  const back = { source: destination, destination: source };
  if (type === "issue" || type === "destroy" || source === WORLD || destination === WORLD) {
    return revertSupply(ledger, by, { id, original }, seen);
  }
  // A caller that may not move value out of the account that received may be answered 404.
  const receiver = ledger.accounts.get(destination)!;
  const reasons = by.writes || receiver.owner === by.id
    ? whyNot(ledger, by, { ...back, value: textOf(amount) })
    : ["transaction.not_found", "permission.owner"];
  if (original.reverted || original.type === "revert") reasons.push("transaction.reverted");
  return judge(seen, reasons, () => {
    if (seen.status !== 201) return null;
    const next = move(ledger, { ...back, amount, type: "revert", reverts: id }, by, seen.body);
    if (next === null) return null;
    return { ...next, moves: new Map(next.moves).set(id, { ...original, reverted: true }) };
  }, ledger);
}
