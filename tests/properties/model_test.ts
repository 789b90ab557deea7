/** The judge itself: histories that are right must pass, and those that are not must not. @module */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { type Event, linearize, report } from "./linearizability.ts";
import { type Act, emptyLedger, type Ledger, textOf, unitsOf } from "./ledger_model_state.ts";
import { fc } from "../support/properties.ts";

const ADMIN = { id: "admin", reads: true, writes: true };

/** A ledger with two accounts of one asset. */
function twoAccounts(a: string, b: string): Ledger {
  const account = (total: string) => ({
    asset: "X",
    owner: "admin",
    total: unitsOf(total)!,
    blocked: 0n,
    frozen: false,
    active: true,
  });
  return { ...emptyLedger(), accounts: new Map([["a", account(a)], ["b", account(b)]]) };
}

let made = 0;

/** A transfer from a to b that was answered with what it left. */
function moved(value: string, left: string, got: string, [from, to]: [number, number]): Event {
  const side = (account: string) => ({ account, owner: "admin" });
  const balance = (total: string) => ({ total, available: total });
  const body = {
    id: `00000000-0000-7000-8000-${String(++made).padStart(12, "0")}`,
    type: "transfer",
    status: "DONE",
    source: side("a"),
    destination: side("b"),
    asset: "X",
    amount: value,
    reference: null,
    balances: { source: balance(left), destination: balance(got) },
    seq: null,
    hash: null,
    error: null,
    owner: "admin",
  };
  return event(transfer(value), 201, body, [from, to]);
}

function event(act: Act, status: number, body: unknown, [from, to]: [number, number]): Event {
  const seen = { status, body, text: JSON.stringify(body), replayed: false };
  return { call: { by: ADMIN, act }, seen, from, to, client: 0 };
}

function transfer(value: string): Act {
  return { kind: "transfer", source: "a", destination: "b", value };
}

Deno.test("unitsOf() and textOf() are each other's opposite", () => {
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 60n }), (units) => {
    equal(unitsOf(textOf(units)), units);
  }));
  equal(unitsOf("1.0000000000000000001"), null);
  equal(textOf(-1n), "-0.000000000000000001");
});

Deno.test("linearize() finds the order of calls that ran at the same time", () => {
  const start = twoAccounts("10", "0");
  const second = moved("3", "5", "5", [1, 4]);
  const first = moved("2", "8", "2", [2, 3]);
  const verdict = linearize(start, [second, first]);
  deepEqual(verdict.order, [first, second]);
});

Deno.test("linearize() refuses an order that time forbids", () => {
  const start = twoAccounts("10", "0");
  const late = moved("3", "5", "5", [1, 2]);
  const early = moved("2", "8", "2", [3, 4]);
  const verdict = linearize(start, [late, early]);
  if (verdict.order !== null) throw new Error("it was explained");
  match(report(verdict), /no order of the calls/);
});

Deno.test("linearize() refuses lost updates, money from nowhere and refusals without a reason", () => {
  const start = twoAccounts("10", "0");
  const lost = [moved("3", "7", "3", [1, 4]), moved("2", "8", "2", [2, 3])];
  const overdrawn = [moved("6", "4", "6", [1, 4]), moved("6", "-2", "12", [2, 3])];
  const why = event(transfer("1"), 409, { code: "balance.insufficient" }, [1, 2]);
  const frozen = event(transfer("1"), 409, { code: "account.frozen" }, [1, 2]);
  for (const history of [lost, overdrawn, [why], [frozen]]) {
    equal(linearize(start, history).order, null);
  }
  const dear = event(transfer("10.000000000000000001"), 409, { code: "balance.insufficient" }, [
    1,
    2,
  ]);
  notEqual(linearize(start, [dear]).order, null);
});

Deno.test("linearize() refuses a key that was applied twice", () => {
  const start = twoAccounts("10", "0");
  const [one, two] = [moved("3", "7", "3", [1, 4]), moved("3", "4", "6", [2, 3])];
  const keyed = [one, two].map((each) => ({ ...each, call: { ...each.call, key: "k" } }));
  equal(linearize(start, keyed).order, null);
  const replay = { ...keyed[0], from: 5, to: 6, seen: { ...one.seen, replayed: true } };
  notEqual(linearize(start, [keyed[0], replay]).order, null);
});

const BLOCK = "00000000-0000-7000-8000-00000000b10c";

/** A block of 4 that is over from age 1 on. */
function blocked([from, to]: [number, number]): Event {
  const act: Act = { kind: "block", account: "a", amount: "4", due: 1, expires_at: 7 };
  const body = { id: BLOCK, account: "a", amount: "4", status: "OPEN", captured: "0" };
  return aged(event(act, 201, { ...body, expires_at: 7 }, [from, to]), [0, 0]);
}

function aged(of: Event, ages: [number, number]): Event {
  return { ...of, seen: { ...of.seen, ages } };
}

/** A release or its refusal, while the clock went from one age to another. */
function released(status: 200 | 409, ages: [number, number], times: [number, number]): Event {
  const body = status === 200 ? { status: "RELEASED" } : { code: "block.closed" };
  return aged(event({ kind: "release", account: "a", block: BLOCK }, status, body, times), ages);
}

function expired(count: number, age: number, [from, to]: [number, number]): Event {
  return event({ kind: "expire", age }, 200, { expired: count }, [from, to]);
}

Deno.test("linearize() knows when a block is over, and forgives who was on the way then", () => {
  const start = twoAccounts("10", "0");
  const fits = (...history: Event[]) => linearize(start, [blocked([1, 2]), ...history]).order;
  for (const ages of [[0, 0], [0, 1]] satisfies [number, number][]) {
    notEqual(fits(released(200, ages, [3, 4])), null);
  }
  for (const ages of [[0, 1], [1, 1]] satisfies [number, number][]) {
    notEqual(fits(released(409, ages, [3, 4])), null);
  }
  equal(fits(released(200, [1, 1], [3, 4])), null, "released when it was over");
  equal(fits(released(409, [0, 0], [3, 4])), null, "refused before it was over");
  notEqual(fits(expired(0, 0, [3, 4]), expired(1, 1, [5, 6]), expired(0, 1, [7, 8])), null);
  equal(fits(expired(1, 0, [3, 4])), null, "closed before it was over");
  equal(fits(expired(0, 1, [3, 4])), null, "left open when it was over");
  const all = transfer("10");
  const lacks = (from: number) =>
    event(all, 409, { code: "balance.insufficient" }, [from, from + 1]);
  notEqual(fits(lacks(3), expired(1, 1, [5, 6])), null);
  equal(fits(expired(1, 1, [3, 4]), lacks(5)), null, "still held after it was closed");
});

Deno.test("linearize() says of a side that does not exist what it was called", () => {
  const start = twoAccounts("10", "0");
  const lost = (named: "alias" | "address", code: string) => {
    const act: Act = { kind: "transfer", source: "a", destination: "?", value: "1" };
    const asked = { ...act, named: { destination: named } };
    return linearize(start, [event(asked, 404, { code }, [1, 2])]).order;
  };
  notEqual(lost("alias", "alias.not_found"), null);
  notEqual(lost("address", "address.not_found"), null);
  equal(lost("alias", "account.not_found"), null);
  equal(lost("address", "alias.not_found"), null);
});

Deno.test("linearize() reverts an issue once, against the world and for the currency's owner", () => {
  const start: Ledger = { ...twoAccounts("10", "0"), issued: new Map([["X", unitsOf("10")!]]) };
  const id = "00000000-0000-7000-8000-0000000001ed";
  const issue = event(
    { kind: "issue", currency: "c", asset: "X", account: "b", amount: "3" },
    200,
    { supply: "13", issuing: [{ operation: "issue", amount: "3", account: "b", reference: id }] },
    [1, 2],
  );
  const balance = (total: string) => ({ total, available: total });
  const back = (world: string, [from, to]: [number, number]) =>
    event({ kind: "revert", transaction: id }, 201, {
      id: `00000000-0000-7000-8000-${String(++made).padStart(12, "0")}`,
      type: "revert",
      status: "DONE",
      source: { account: "b", owner: "admin" },
      destination: { account: "w", owner: null },
      asset: "X",
      amount: "3",
      reference: null,
      reverts: id,
      balances: { source: balance("0"), destination: balance(world) },
      seq: null,
      hash: null,
      error: null,
      owner: "admin",
    }, [from, to]);
  const { order, ledger } = linearize(start, [issue, back("-10", [3, 4])]);
  notEqual(order, null);
  equal(ledger.issued.get("X"), unitsOf("10"));
  equal(linearize(start, [issue, back("-13", [3, 4])]).order, null, "it stays in circulation");
  equal(linearize(start, [issue, back("-10", [3, 4]), back("-10", [5, 6])]).order, null, "twice");
});
