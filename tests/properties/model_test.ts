/** The judge itself: histories that are right must pass, and those that are not must not. @module */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import fc from "fast-check";
import { type Event, linearize, report } from "../support/history.ts";
import { type Act, emptyLedger, type Ledger, textOf, unitsOf } from "../support/model_book.ts";

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
