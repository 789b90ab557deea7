/** Tokens that lie in more accounts of a deposit address than one transaction takes from. */
import { deepEqual, equal } from "node:assert/strict";
import { findAsset } from "../../../domain/assets.ts";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { fillPayer, makeOther, moves, plantMint } from "../../support/nodes/solana_tokens.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;
const ACCOUNTS = 8;

Deno.test("a part of a token in more accounts than one transaction takes from is swept by several", async () => {
  let front: FaultyNode | null = null;
  const through = (url: string) => [(front = startFaultyNode(url)).url];
  await using fixture = await openSolanaFixture({ main: true, through });
  await using faulty = front!;
  const { node, mine, realm } = fixture;
  const { contract, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
  const ramp = await fixture.ramp("PYUSD_SOL");
  const deposit = await fixture.address(ramp.id);
  await node.pay(ramp.address, SOL);
  const from = await fillPayer(node, mint, 10n ** 12n);
  const accounts: string[] = [];
  for (let at = 0; at < ACCOUNTS; at++) {
    accounts.push(await makeOther(node, deposit.address, mint));
  }
  await mine();
  const hidden = await node.send([moves(node, mint, { from, to: accounts[0], amount: 500_000n })]);
  // What is not credited stays, so that a part of what is there is swept.
  faulty.trick = async ({ method, params }) => {
    if (method !== "getSignaturesForAddress") return undefined;
    const listed = await node.rpc<{ signature: string }[]>(method, ...params);
    return listed.filter(({ signature }) => signature !== hidden);
  };
  await node.send(
    accounts.map((to) => moves(node, mint, { from, to, amount: 10_000_000n })),
  );
  await mine();
  equal((await fixture.account(deposit.id)).balance.total, "80");
  await fixture.mineUntil(async () => (await fixture.account(ramp.id)).balance.total === "80");
  const sweeps = await rowsOf<{ state: string; amount: string }>(
    realm,
    "select state, trim_scale(amount)::text as amount from sweeps order by id",
  );
  deepEqual(sweeps.map(({ state, amount }) => `${state} ${amount}`), ["done 60.5", "done 19.5"]);
  equal((await fixture.account(deposit.id)).balance.total, "0");
});
