/** What a transaction of Solana moved, where its balances are beyond what a double holds exactly. */
import { deepEqual, throws } from "node:assert/strict";
import { readMovement, transfersOf } from "../../../workers/chains/solana/movements.ts";

const OURS = "11111111111111111111111111111112";
const PAYER = "SysvarC1ock11111111111111111111111111111111";
const RICH = "SysvarRent111111111111111111111111111111111";
const BLOCK = { height: 7, hash: "b", parentHash: "a", time: 0 };
const WATCH = { addresses: new Set([OURS]), inputs: new Set<string>(), contracts: null };

function paid(rich: unknown, [before, after]: readonly unknown[]) {
  return readMovement({
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
    },
  });
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
