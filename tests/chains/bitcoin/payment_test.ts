import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { ChainError, type ChainFault } from "../../../workers/chains/chain.ts";
import { feeAt } from "../../../workers/chains/bitcoin/fees.ts";
import {
  COIN_TABLES,
  type CoinChainId,
  type CoinTable,
} from "../../../workers/chains/bitcoin/networks.ts";
import { planDraft } from "../../../workers/chains/bitcoin/payment.ts";
import { dustOf } from "../../../workers/chains/bitcoin/scripts.ts";
import { vsizeOf } from "../../../workers/chains/bitcoin/size.ts";
import type { Coin, Draft, Payment, Plan } from "../../../workers/chains/outgoing.ts";
import { fc } from "../../support/properties.ts";

// Plans read no address, so any text will do.
const SENDER = "sender";
const ALL = "all" as const;

function sourceOf(table: CoinTable): string {
  return table.witness ? `0014${"aa".repeat(20)}` : `76a914${"aa".repeat(20)}88ac`;
}

function draftOf(
  id: CoinChainId,
  amounts: readonly (bigint | "all")[],
  rate: bigint = COIN_TABLES[id].rateMin,
): Draft {
  const table = COIN_TABLES[id];
  const scripts = amounts.map((_, at) =>
    at % 2 === 0 ? sourceOf(table) : `a914${"bb".repeat(20)}87`
  );
  const payments: Payment[] = amounts.map((amount, at) => ({ to: `receiver ${at}`, amount }));
  const bounds = { step: "1000", ceiling: `${table.rateMax}`, budget: null };
  const body = { ...bounds, rate: `${rate}`, source: sourceOf(table), scripts };
  return {
    order: { kind: "pay", from: SENDER, contract: null, payments },
    fee: feeAt(table, rate, scripts),
    feePayer: SENDER,
    lacking: 0n,
    body: JSON.stringify(body),
  };
}

function coin(at: number, amount: bigint, parent: Coin["parent"] = null): Coin {
  const hash = at.toString(16).padStart(64, "0");
  return { hash, index: 0, address: SENDER, amount, height: parent ? null : 100, parent };
}

function plan(
  id: CoinChainId,
  draft: Draft,
  coins: readonly Coin[],
  replaces?: Plan,
): Plan {
  return planDraft(COIN_TABLES[id], draft, { coins }, replaces);
}

function failsAs(fault: ChainFault, work: () => unknown): void {
  throws(work, (error: unknown) => error instanceof ChainError && error.fault === fault);
}

/** The coins that a plan spends, among those it was offered. */
function spentBy(made: Plan, coins: readonly Coin[]): Coin[] {
  return made.inputs.map((input) => coins.find(({ hash, index }) => `${hash}:${index}` === input)!);
}

const IDS = Object.keys(COIN_TABLES) as CoinChainId[];

Deno.test("every payment balances: coins = payments + change + fee, no dust change, rate and caps hold", () => {
  const scenario = fc.record({
    id: fc.constantFrom(...IDS),
    held: fc.array(fc.bigInt({ min: 500n, max: 5n * 10n ** 8n }), { minLength: 1, maxLength: 40 }),
    paid: fc.array(fc.bigInt({ min: 1_000_000n, max: 10n ** 9n }), { minLength: 1, maxLength: 5 }),
    everything: fc.boolean(),
    times: fc.bigInt({ min: 1n, max: 50n }),
  });
  let planned = 0;
  fc.assert(
    fc.property(scenario, ({ id, held, paid, everything, times }) => {
      const table = COIN_TABLES[id];
      const rate = table.rateMin * times;
      const draft = draftOf(id, everything ? [ALL] : paid, rate);
      const coins = held.map((amount, at) => coin(at, amount));
      let made: Plan;
      try {
        made = plan(id, draft, coins);
      } catch (error) {
        ok(error instanceof ChainError && ["insufficient", "refused"].includes(error.fault));
        return;
      }
      planned++;
      const spent = spentBy(made, coins).reduce((sum, one) => sum + one.amount, 0n);
      const sent = made.amounts.reduce((sum, amount) => sum + amount, 0n);
      equal(spent, sent + (made.change?.amount ?? 0n) + made.fee);
      equal(new Set(made.inputs).size, made.inputs.length);
      if (!everything) deepEqual(made.amounts, paid);
      if (made.change) ok(made.change.amount >= dustOf(table, sourceOf(table)));
      ok(made.amounts.every((amount) => amount >= dustOf(table, sourceOf(table)) || !everything));
      ok(made.fee * 1000n >= rate * BigInt(made.vsize!), "below the rate");
      ok(made.fee <= table.feeMax);
      ok(made.fee <= sent || made.fee <= table.feeFree);
      const { fee } = draft;
      const most = fee.base + fee.perInput * BigInt(made.inputs.length) +
        fee.perPayment * BigInt(made.amounts.length);
      const change = dustOf(table, sourceOf(table)) + table.rateLow;
      ok(made.fee <= most + change, "more than the draft said");
    }),
    { numRuns: 1_000 },
  );
  ok(planned > 300, `only ${planned} plans were possible`);
});

Deno.test("the size that is paid for is the size of the bytes, or at most a byte per signature more", () => {
  // 1 input and 2 outputs of P2WPKH are 141 virtual bytes, of P2PKH 226 bytes.
  const [witness, plain] = [COIN_TABLES.BITCOIN, COIN_TABLES.DOGECOIN];
  equal(vsizeOf(witness, 1, [sourceOf(witness), sourceOf(witness)]), 141);
  equal(vsizeOf(plain, 1, [sourceOf(plain), sourceOf(plain)]), 226);
});

Deno.test("change that is dust, or costs more than it holds, is left to the miner", () => {
  const draft = draftOf("BITCOIN", [100_000n], 1_000n);
  const made = plan("BITCOIN", draft, [coin(1, 100_000n + 110n + 650n)]);
  deepEqual([made.change, made.fee], [null, 760n]);
  const more = plan("BITCOIN", draft, [coin(1, 100_000n + 141n + 680n)]);
  deepEqual(more.change, { to: SENDER, amount: 680n, index: 1 });
  equal(more.fee, 141n);
});

Deno.test("everything leaves but coins that are not worth their own input", () => {
  const made = plan("BITCOIN", draftOf("BITCOIN", [ALL], 10_000n), [
    coin(1, 50_000n),
    coin(2, 679n),
    coin(3, 30_000n),
  ]);
  equal(made.inputs.length, 2);
  equal(made.amounts[0] + made.fee, 80_000n);
  equal(made.change, null);
  failsAs(
    "insufficient",
    () => plan("BITCOIN", draftOf("BITCOIN", [ALL], 10_000n), [coin(2, 679n)]),
  );
  failsAs("insufficient", () => plan("BITCOIN", draftOf("BITCOIN", [ALL]), []));
});

Deno.test("confirmed coins are spent first, and a child pays what its parent lacks", () => {
  const poor = { fee: 100n, vsize: 1_000 };
  const [confirmed, pending] = [coin(1, 200_000n), coin(2, 500_000n, poor)];
  const first = plan("BITCOIN", draftOf("BITCOIN", [100_000n], 10_000n), [pending, confirmed]);
  deepEqual(first.inputs, [`${confirmed.hash}:0`]);
  const child = plan("BITCOIN", draftOf("BITCOIN", [400_000n], 10_000n), [pending]);
  const own = BigInt(child.vsize!) * 10n;
  equal(child.fee, own + 10_000n - poor.fee);
  const rich = { fee: 90_000n, vsize: 1_000 };
  const free = plan("BITCOIN", draftOf("BITCOIN", [400_000n], 10_000n), [coin(2, 500_000n, rich)]);
  equal(free.fee, BigInt(free.vsize!) * 10n);
});

Deno.test("two coins of one unconfirmed transaction pay for it once", () => {
  const parent = { fee: 0n, vsize: 1_000 };
  const twins = [coin(7, 60_000n, parent), { ...coin(7, 60_000n, parent), index: 1 }];
  const made = plan("BITCOIN", draftOf("BITCOIN", [ALL], 10_000n), twins);
  equal(made.inputs.length, 2);
  equal(made.fee, BigInt(made.vsize!) * 10n + 10_000n);
});

Deno.test("a replacement spends the same coins, pays the same, and outbids by a tenth and its size", () => {
  const amounts = fc.array(fc.bigInt({ min: 10_000n, max: 10n ** 7n }), {
    minLength: 1,
    maxLength: 4,
  });
  const scenario = fc.record({
    paid: amounts,
    first: fc.bigInt({ min: 1_000n, max: 60_000n }),
    second: fc.bigInt({ min: 1_000n, max: 120_000n }),
    held: fc.array(fc.bigInt({ min: 20_000n, max: 10n ** 7n }), { minLength: 1, maxLength: 12 }),
  });
  let replaced = 0;
  fc.assert(
    fc.property(scenario, ({ paid, first, second, held }) => {
      const coins = held.map((amount, at) => coin(at, amount));
      let made: Plan, again: Plan;
      try {
        made = plan("BITCOIN", draftOf("BITCOIN", paid, first), coins);
        again = plan("BITCOIN", draftOf("BITCOIN", paid, second), coins, made);
      } catch (error) {
        ok(error instanceof ChainError);
        return;
      }
      replaced++;
      ok(made.inputs.every((input) => again.inputs.includes(input)));
      deepEqual(again.amounts, made.amounts);
      ok(again.fee * 10n >= made.fee * 11n);
      ok(again.fee >= made.fee + BigInt(again.vsize!), "rule 4");
      ok(again.fee * BigInt(made.vsize!) > made.fee * BigInt(again.vsize!), "rule 6");
      const spent = spentBy(again, coins).reduce((sum, one) => sum + one.amount, 0n);
      const sent = again.amounts.reduce((sum, amount) => sum + amount, 0n);
      equal(spent, sent + (again.change?.amount ?? 0n) + again.fee);
    }),
    { numRuns: 500 },
  );
  ok(replaced > 100, `only ${replaced} replacements were possible`);
});

Deno.test("a replacement brings in no coin that is itself unconfirmed", () => {
  const made = plan("BITCOIN", draftOf("BITCOIN", [100_000n], 1_000n), [coin(1, 100_200n)]);
  const fast = draftOf("BITCOIN", [100_000n], 50_000n);
  const pending = coin(2, 500_000n, { fee: 1_000n, vsize: 100 });
  failsAs("insufficient", () => plan("BITCOIN", fast, [pending], made));
  const again = plan("BITCOIN", fast, [pending, coin(3, 500_000n)], made);
  deepEqual(again.inputs, [...made.inputs, `${coin(3, 0n).hash}:0`]);
});

Deno.test("a cancellation sends the replaced coins home; without anything to replace it is refused", () => {
  const made = plan("LITECOIN", draftOf("LITECOIN", [100_000n]), [coin(1, 10n ** 6n)]);
  const noop: Draft = { ...draftOf("LITECOIN", [1n]), order: { kind: "noop", from: SENDER } };
  const again = plan("LITECOIN", noop, [], made);
  deepEqual([again.inputs, again.amounts, again.outputs], [made.inputs, [], null]);
  deepEqual(again.change, { to: SENDER, amount: 10n ** 6n - again.fee, index: 0 });
  ok(again.fee > made.fee);
  failsAs("refused", () => plan("LITECOIN", noop, [coin(1, 10n ** 6n)]));
});

Deno.test("Bitcoin Cash and Dogecoin replace nothing", () => {
  for (const id of ["BITCOIN_CASH", "DOGECOIN"] as const) {
    const draft = draftOf(id, [10n ** 8n]);
    const made = plan(id, draft, [coin(1, 10n ** 9n)]);
    failsAs("unsupported", () => plan(id, draft, [], made));
  }
});

Deno.test("a rate or fee beyond the caps is refused, whatever the node said", () => {
  const rich = [coin(1, 10n ** 11n)];
  const { rateMax } = COIN_TABLES.BITCOIN;
  ok(plan("BITCOIN", draftOf("BITCOIN", [10n ** 9n], rateMax), rich));
  failsAs("refused", () => plan("BITCOIN", draftOf("BITCOIN", [10n ** 9n], 2n * rateMax), rich));
  // More for the miner than for the receiver.
  const high = draftOf("BITCOIN", [10_000n], rateMax);
  failsAs("refused", () => plan("BITCOIN", high, rich));
  // At a rate that is allowed, but over too many inputs.
  const many = Array.from({ length: 300 }, (_, at) => coin(at, 10n ** 7n));
  failsAs("refused", () => plan("BITCOIN", draftOf("BITCOIN", [ALL], rateMax), many));
});

Deno.test("coins of somebody else are not spent", () => {
  const foreign = { ...coin(1, 10n ** 8n), address: "somebody" };
  failsAs("refused", () => plan("BITCOIN", draftOf("BITCOIN", [10_000n]), [foreign]));
});

Deno.test("10 000 small coins: a payment, and as many at once as fit a transaction", () => {
  const coins = Array.from({ length: 10_000 }, (_, at) => coin(at, 10_000n + BigInt(at % 613)));
  const paid = plan("BITCOIN", draftOf("BITCOIN", [3_000_000n], 5_000n), coins);
  ok(paid.inputs.length >= 290 && paid.inputs.length <= 350);
  const all = plan("BITCOIN", draftOf("BITCOIN", [ALL], 1_000n), coins);
  ok(all.vsize! <= 95_000 && all.inputs.length > 1_300, `${all.inputs.length} coins`);
  failsAs("insufficient", () => plan("BITCOIN", draftOf("BITCOIN", [50_000_000n], 1_000n), coins));
});

Deno.test("a payment of more coins than fit one transaction is refused with the remedy", () => {
  const coins = Array.from({ length: 700 }, (_, at) => coin(at, 100_000_000n));
  throws(
    () => plan("DOGECOIN", draftOf("DOGECOIN", [68_000_000_000n]), coins),
    /no more than 641 fit one transaction: consolidate them/,
  );
  throws(
    () => plan("DOGECOIN", draftOf("DOGECOIN", [80_000_000_000n]), coins),
    /700 coins hold 70000000000 base units, 80000000000 and a fee are needed$/,
  );
});
