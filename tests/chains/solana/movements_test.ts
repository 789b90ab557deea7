/** What a transaction of Solana moved, where its balances are beyond what a double holds exactly. */
import { deepEqual, throws } from "node:assert/strict";
import { mayConcern, readMovement, transfersOf } from "../../../workers/chains/solana/movements.ts";

const OURS = "11111111111111111111111111111112";
const PAYER = "SysvarC1ock11111111111111111111111111111111";
const RICH = "SysvarRent111111111111111111111111111111111";
const BLOCK = { height: 7, hash: "b", parentHash: "a", time: 0 };
const WATCH = { addresses: new Set([OURS]), inputs: new Set<string>(), contracts: null };

function told(rich: unknown, [before, after]: readonly unknown[], more: object = {}) {
  return {
    transaction: {
      signatures: ["1".repeat(64)],
      accountKeys: [PAYER, OURS, RICH].map((pubkey) => ({ pubkey, signer: pubkey === PAYER })),
    },
    meta: {
      ...{ err: null, fee: 5000, preTokenBalances: [], postTokenBalances: [] },
      ...{
        preBalances: [9_000_000, before, rich],
        postBalances: [7_995_000, after, rich],
      },
      ...more,
    },
  };
}

function paid(rich: unknown, ours: readonly unknown[]) {
  return readMovement(told(rich, ours));
}

Deno.test("a payment that mentions an account of more than nine million SOL is read, and one to such an account is exact", () => {
  const rich = "10000000000000001";
  for (const ours of [[1_000_000, 2_000_000], [rich, "10000000001000001"]]) {
    deepEqual(
      transfersOf(paid(rich, ours), BLOCK, WATCH).map(({ to, amount }) => [to, amount]),
      [[OURS, 1_000_000n]],
    );
  }
  // A reader that lost the last digits would give such a number.
  throws(() => paid(10_000_000 * 1e9, [0, 1]), /amount/);
});

Deno.test("tokens of an unknown owner are nobody's, and a result that says neither is no failure", () => {
  const uiTokenAmount = { amount: "5", decimals: 0 };
  const unowned = told(1, [0, 7], {
    postTokenBalances: [{ accountIndex: 2, mint: RICH, uiTokenAmount }],
  });
  const others = { ...WATCH, addresses: new Set([BLOCK.hash]) };
  deepEqual([mayConcern(unowned, WATCH), mayConcern(unowned, others)], [true, false]);
  deepEqual(transfersOf(readMovement(unowned), BLOCK, WATCH).map(({ amount }) => amount), [7n]);
  const neither = told(1, [0, 7], { err: undefined });
  throws(() => readMovement(neither), /result/);
  throws(() => mayConcern(neither, others), /result/);
});

Deno.test("a confidential transfer changes no public balance and credits nothing; what becomes public again is counted", () => {
  const balance = (amount: string) => ({
    ...{ accountIndex: 2, mint: RICH, owner: OURS },
    uiTokenAmount: { amount, decimals: 6 },
  });
  const tokens = (before: string, after: string) =>
    readMovement(told(1, [7, 7], {
      preTokenBalances: [balance(before)],
      postTokenBalances: [balance(after)],
    }));
  for (const held of ["0", "9000000"]) {
    deepEqual(transfersOf(tokens(held, held), BLOCK, WATCH), [], "the amount moved in confidence");
  }
  deepEqual(transfersOf(tokens("9000000", "0"), BLOCK, WATCH), [], "made confidential");
  const [back] = transfersOf(tokens("0", "5"), BLOCK, WATCH);
  deepEqual([back.contract, back.amount], [RICH, 5n]);
});

Deno.test("what came to two token accounts of an address is one transfer, in whatever order a node lists them", () => {
  const balance = (accountIndex: number, amount: string) => ({
    ...{ accountIndex, mint: RICH, owner: OURS },
    uiTokenAmount: { amount, decimals: 6 },
  });
  const listed = [balance(0, "3"), balance(2, "4")];
  const found = [listed, listed.toReversed()].map((postTokenBalances) =>
    transfersOf(readMovement(told(1, [7, 7], { postTokenBalances })), BLOCK, WATCH)
      .map(({ index, amount }) => `${index} ${amount}`)
  );
  deepEqual(found, [["0 7"], ["0 7"]]);
});
