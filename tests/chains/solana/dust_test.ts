/** Strangers who send dust to a deposit address after its sweep was signed, on a real Solana node. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { rowsOf } from "../../support/realm.ts";
import {
  fillPayer,
  makesUsual,
  moves,
  plantMint,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";
import { findAsset } from "../../../domain/assets.ts";

const SOL = 1_000_000_000n;

/** A node of the service; dust is sent right before each transaction, which lands all the same. */
async function openScene(main: boolean) {
  let front: FaultyNode | null = null;
  const through = (url: string) => [(front = startFaultyNode(url)).url];
  const fixture = await openSolanaFixture({ main, through });
  return { fixture, front: front! };
}

function overtake(
  { node }: SolanaFixture,
  front: FaultyNode,
  dust: () => Promise<unknown>,
): void {
  front.trick = async ({ method, params: [raw] }) => {
    if (method !== "sendTransaction") return undefined;
    await dust();
    // The node that tried it did not know of the dust.
    return await node.rpc("sendTransaction", raw, {
      encoding: "base64",
      skipPreflight: true,
    });
  };
}

/** Ends the pause after a failure. */
async function rest({ realm }: SolanaFixture): Promise<void> {
  await rowsOf(
    realm,
    "update sweeps set updated_at = now() - interval '11 minutes'",
  );
  await rowsOf(
    realm,
    "update deposits set updated_at = now() - interval '11 minutes'",
  );
}

async function sweepsOf({ realm }: SolanaFixture): Promise<string[]> {
  const rows = await rowsOf<{ state: string; amount: string | null }>(
    realm,
    "select state, trim_scale(amount)::text as amount from sweeps order by id",
  );
  return rows.map(({ state, amount }) => `${state} ${amount ?? ""}`.trim());
}

async function lamportsOf(
  { node }: SolanaFixture,
  address: string,
): Promise<bigint> {
  const { value } = await node.rpc<{ value: number }>("getBalance", address);
  return BigInt(value);
}

Deno.test("dust that arrives after the signature makes one sweep of a token fail; later ones close no account", async () => {
  const { fixture, front } = await openScene(true);
  await using _front = front;
  await using _fixture = fixture;
  const { node, mine } = fixture;
  const { contract: address, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, {
    address: address!,
    symbol: "PYUSD",
    decimals,
  });
  const ramp = await fixture.ramp("PYUSD_SOL");
  const deposit = await fixture.address(ramp.id);
  await node.pay(ramp.address, SOL);
  await mine();
  const source = await fillPayer(node, mint, 100_000_000n);
  const usual = usualAccount(deposit.address, mint);
  const pay = (amount: bigint) =>
    node.send([
      makesUsual(node, deposit.address, mint),
      moves(node, mint, { from: source, to: usual, amount }),
    ]);
  overtake(fixture, front, () => pay(1n));
  await pay(30_000_000n);
  await fixture.mineUntil(async () => (await sweepsOf(fixture)).includes("failed"));
  await rest(fixture);
  await fixture.mineUntil(async () =>
    (await sweepsOf(fixture)).some((one) => one.startsWith("done 30"))
  );
  ok(await lamportsOf(fixture, usual) > 0n, "it stays open");
  await pay(5_000_000n);
  await fixture.mineUntil(async () => (await sweepsOf(fixture)).length === 3);
  await fixture.mineUntil(async () => (await sweepsOf(fixture))[2].startsWith("done"));
  deepEqual((await sweepsOf(fixture)).filter((one) => one === "failed"), [
    "failed",
  ]);
  ok(await lamportsOf(fixture, usual) > 0n, "it stays open for ever");
  await mine(2);
  const { balance } = await fixture.account(ramp.id);
  equal(balance.assets, balance.total);
});

Deno.test("dust that arrives after the signature makes one sweep of SOL fail; the next leaves the least that is kept", async () => {
  const { fixture, front } = await openScene(false);
  await using _front = front;
  await using _fixture = fixture;
  const { node, mine } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await mine();
  overtake(fixture, front, () => node.pay(deposit.address, 1n));
  await node.pay(deposit.address, 2n * SOL);
  await fixture.mineUntil(async () => (await sweepsOf(fixture)).includes("failed"));
  await rest(fixture);
  await fixture.mineUntil(async () =>
    (await sweepsOf(fixture)).some((one) => one.startsWith("done"))
  );
  const [, done] = await sweepsOf(fixture);
  ok(done.startsWith("done 1.99"), done);
  const held = await lamportsOf(fixture, ramp.address);
  ok(held > 2n * SOL - 2_000_000n, `${held}`);
});
