import { deepEqual, equal, ok } from "node:assert/strict";
import {
  type Choice,
  selectAll,
  selectCoins,
  type Wanted,
} from "../../../workers/chains/bitcoin/coin_selection.ts";
import { fc } from "../../support/properties.ts";

const WANTED: Wanted = {
  target: 100_000n,
  changeCost: 310n,
  changeMin: 680n,
  inputCost: 680n,
  inputCostLow: 340n,
  inputsMax: 1_000,
};

function coins(...worths: readonly number[]): Choice[] {
  return worths.map((worth, at) => {
    const input = `${`${at}`.padStart(64, "0")}:0`;
    return { input, amount: BigInt(worth) + WANTED.inputCost, worth: BigInt(worth) };
  });
}

function worths(choice: readonly Choice[] | null): number[] | null {
  return choice && choice.map(({ worth }) => Number(worth)).sort((one, other) => one - other);
}

Deno.test("a set that needs no change is preferred to one that does", () => {
  const found = selectCoins(coins(500_000, 70_000, 45_000, 30_000, 90_000), WANTED);
  deepEqual(worths(found), [30_000, 70_000]);
});

Deno.test("without such a set the smallest coin that suffices is taken", () => {
  deepEqual(worths(selectCoins(coins(900_000, 130_000, 200_000), WANTED)), [130_000]);
});

Deno.test("many coins are joined when none suffices alone", () => {
  deepEqual(worths(selectCoins(coins(60_000, 55_000, 20_000), WANTED)), [55_000, 60_000]);
});

Deno.test("coins that cost more than they hold are never spent", () => {
  const found = selectCoins(coins(-10, 0, -500, 130_000), WANTED);
  deepEqual(worths(found), [130_000]);
  equal(selectCoins(coins(-10, 0, 99_000), WANTED), null);
});

Deno.test("while rates are low small coins are gathered, while they are high they are not", () => {
  const held = coins(...Array<number>(50).fill(3_000), 400_000);
  const low = selectCoins(held, { ...WANTED, inputCost: 340n, inputCostLow: 680n });
  equal(low?.length, 20);
  equal(selectCoins(held, WANTED)?.length, 1);
});

Deno.test("a choice that would need more inputs than fit is refused, and the best that fits is taken", () => {
  const held = coins(...Array<number>(2_000).fill(1_000));
  equal(selectCoins(held, { ...WANTED, target: 1_500_000n }), null);
  equal(selectCoins(held, { ...WANTED, target: 900_500n })?.length, 901);
  equal(selectAll(held, 1_000).length, 1_000);
});

Deno.test("a choice does not depend on the order of the coins", () => {
  fc.assert(fc.property(
    fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 30 }),
    fc.infiniteStream(fc.nat()),
    (held, random) => {
      const given = coins(...held);
      const shuffled = given.map((coin) => [random.next().value, coin] as const)
        .sort(([one], [other]) => one - other).map(([, coin]) => coin);
      deepEqual(worths(selectCoins(shuffled, WANTED)), worths(selectCoins(given, WANTED)));
    },
  ));
});

Deno.test("a choice suffices, has no coin twice and no more than fit; and null means too little", () => {
  const worth = fc.oneof(
    fc.integer({ min: -500, max: 5_000 }),
    fc.integer({ min: 0, max: 200_000 }),
  );
  fc.assert(
    fc.property(
      fc.array(worth, { maxLength: 60 }),
      fc.integer({ min: 1, max: 400_000 }),
      fc.integer({ min: 1, max: 40 }),
      (held, target, inputsMax) => {
        const wanted = { ...WANTED, target: BigInt(target), inputsMax };
        const given = coins(...held);
        const found = selectCoins(given, wanted);
        const richest = held.filter((one) => one > 0).sort((one, other) => other - one)
          .slice(0, inputsMax).reduce((sum, one) => sum + one, 0);
        equal(found === null, richest < target);
        if (found === null) return;
        ok(found.length <= inputsMax);
        equal(new Set(found).size, found.length);
        ok(found.every((coin) => coin.worth > 0n && given.includes(coin)));
        ok(found.reduce((sum, coin) => sum + coin.worth, 0n) >= wanted.target);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("10 000 small coins are chosen from in bounded time, also where no exact set exists", () => {
  const held = coins(...Array.from({ length: 10_000 }, (_, at) => 2_000 + 2 * ((at * 7919) % 997)));
  for (const target of [1_001n, 100_001n, 999_999n, 2_345_677n]) {
    ok(selectCoins(held, { ...WANTED, target }) !== null);
  }
  const equalOnes = coins(...Array<number>(10_000).fill(5_000));
  ok(selectCoins(equalOnes, { ...WANTED, target: 1_777_777n }) !== null);
});
