/** Deposits and sweeps of SOL and of a token, from the API to the real node and back. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { rowsOf } from "../../support/realm.ts";
import {
  fillPayer,
  makeOther,
  makesUsual,
  moves,
  plantMint,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";
import { findAsset } from "../../../domain/assets.ts";

const SOL = 1_000_000_000n;

async function lamportsOf({ node }: SolanaFixture, address: string): Promise<bigint> {
  const { value } = await node.rpc<{ value: number }>("getBalance", address);
  return BigInt(value);
}

/** Hands out an address that nobody derived, to a deposit account of its own. */
const INVENTED = `
  with made as (insert into accounts select (jsonb_populate_record(null::accounts,
      to_jsonb(a) || '{"id": "01a00000-0000-7000-8000-000000000001"}')).*
    from accounts a where type = 'deposit' limit 1)
  select;
  insert into addresses select (jsonb_populate_record(null::addresses, to_jsonb(a) ||
    '{"id": "01a00000-0000-7000-8000-000000000002", "derivation_key": 150,
      "account": "01a00000-0000-7000-8000-000000000001", "address": "${"1".repeat(44)}"}')).*
  from addresses a where derivation_key = 1`;

Deno.test("a deposit of SOL is credited when its block is final, and swept less the fee", async () => {
  await using fixture = await openSolanaFixture();
  const { node, mine } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await mine();
  await node.pay(deposit.address, 2n * SOL);
  const { height } = { height: await node.raw<number>("getSlot", { commitment: "processed" }) };
  ok(height > 0);
  deepEqual(await fixture.deposits(), [], "its block is not final yet");
  await mine();
  deepEqual(await fixture.deposits(), [
    { address: deposit.address, asset: "SOL", amount: "2", status: "CONFIRMED" },
  ]);
  await fixture.mineUntil(async () => (await fixture.account(ramp.id)).balance.total !== "0");
  const held = await lamportsOf(fixture, ramp.address);
  equal(await lamportsOf(fixture, deposit.address), 0n);
  ok(held < 2n * SOL && held > 2n * SOL - 1_000_000n, `${held}`);
  const { balance } = await fixture.account(ramp.id);
  equal(BigInt(Math.round(Number(balance.total) * 1e9)), held);
  equal((await fixture.deposits()).length, 1, "the sweep is no deposit");
});

Deno.test("more skipped slots in a row than a pass reads do not stop the scanner", async () => {
  await using fixture = await openSolanaFixture();
  const { node, mine } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await mine();
  await node.skip(2500);
  await node.pay(deposit.address, 2n * SOL);
  await mine(2);
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["CONFIRMED"]);
});

/** A sweep that waits, here for a stop to be lifted, is due once the ramp, which pays its fee, has got something. */
async function assertWokenByPayer(fixture: SolanaFixture, ramp: string): Promise<void> {
  const { node, realm } = fixture;
  const [waiting] = await rowsOf<{ sender: string; payer: string }>(
    realm,
    "select sender, request ->> 'feePayer' as payer from chain_orders where state = 'new'",
  );
  deepEqual([waiting.payer, waiting.sender === ramp], [ramp, false]);
  const due = async () =>
    (await rowsOf(
      realm,
      "select from jobs where name = 'order.advance' and state = 'ready' and run_at <= now()",
    )).length;
  await rowsOf(
    realm,
    `update jobs set run_at = now() + interval '1 hour', created_at = now() - interval '1 minute'
      where name = 'order.advance' and state = 'ready'`,
  );
  await node.mine();
  await fixture.poller.advance();
  equal(await due(), 0);
  await node.pay(ramp, SOL);
  await node.mine();
  await fixture.poller.advance();
  equal(await due(), 1);
}

Deno.test("a token is credited at any account of its owner; its sweep is paid by the ramp, which gets the rent", async () => {
  await using fixture = await openSolanaFixture({ main: true });
  const { node, mine } = fixture;
  const { contract: address, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: address!, symbol: "PYUSD", decimals });
  const ramp = await fixture.ramp("PYUSD_SOL");
  const deposit = await fixture.address(ramp.id);
  await node.pay(ramp.address, SOL);
  await mine();
  const { send } = fixture.realm.admin;
  const stop = await send("POST", "/v1/stops", { what: "signing", reason: "drill" });
  const source = await fillPayer(node, mint, 100_000_000n);
  const other = await makeOther(node, deposit.address, mint);
  const usual = usualAccount(deposit.address, mint);
  await node.send([
    makesUsual(node, deposit.address, mint),
    moves(node, mint, { from: source, to: usual, amount: 30_000_000n }),
  ]);
  await node.send([moves(node, mint, { from: source, to: other, amount: 12_000_000n })]);
  await mine();
  deepEqual((await fixture.deposits()).map(({ amount, status }) => `${amount} ${status}`), [
    "30 CONFIRMED",
    "12 CONFIRMED",
  ]);
  await assertWokenByPayer(fixture, ramp.address);
  equal((await send("DELETE", `/v1/stops/${stop.body.id}`)).status, 200);
  await fixture.mineUntil(async () => (await fixture.account(ramp.id)).balance.total === "42");
  deepEqual([await lamportsOf(fixture, usual), await lamportsOf(fixture, other)], [0n, 0n]);
  const orders = await rowsOf<{ purpose: string; state: string }>(
    fixture.realm,
    "select purpose, state from chain_orders order by id",
  );
  deepEqual(orders.map((one) => `${one.purpose} ${one.state}`), ["sweep done"], "no gas is sent");
  await mine();
  equal((await fixture.account(ramp.id)).balance.assets, "42");
  const gains = await rowsOf(fixture.realm, "select address from unexplained_gains");
  deepEqual(gains, [], "the rent that came back is explained");
});

Deno.test("an address of Solana comes from those derived ahead, and more are derived before they run out", async () => {
  await using fixture = await openSolanaFixture();
  const ramp = await fixture.ramp();
  const indices = async () => {
    const [row] = await rowsOf<{ next: number; reserved: number; xpub: string | null }>(
      fixture.realm,
      "select next_index as next, reserved, xpub from ramps",
    );
    return row;
  };
  deepEqual(await indices(), { next: 1, reserved: 201, xpub: null });
  const first = await fixture.address(ramp.id);
  const [row] = await rowsOf<{ key: number; address: string }>(
    fixture.realm,
    "select derivation_key as key, address from reserved_addresses where derivation_key = 1",
  );
  deepEqual(row, { key: 1, address: first.address });
  await fixture.realm.command((tx) => tx`update ramps set next_index = 110`);
  await fixture.address(ramp.id);
  const { next, reserved } = await indices();
  deepEqual([next, reserved], [111, 311]);
  // The database hands out none that a worker has not derived, whatever the service says.
  const invented = rowsOf(fixture.realm, INVENTED);
  await rejects(invented, /no worker has derived this address/);
  // Used up, before a worker came: no address, rather than one without a key.
  await fixture.realm.command((tx) => tx`update ramps set next_index = 311`);
  const refused = await fixture.realm.admin.send("POST", `/v1/account/${ramp.id}/address`, {});
  deepEqual([refused.status, refused.body.code], [503, "chain.stale"]);
  deepEqual((await indices()).next, 311, "no index is lost");
});

Deno.test("by the node's own finality, a deposit is credited when its slot is 31 blocks deep, and not before", async () => {
  let front: FaultyNode | null = null;
  const through = (url: string) => [(front = startFaultyNode(url)).url];
  await using fixture = await openSolanaFixture({ through });
  await using faulty = front!;
  const { node, mine } = fixture;
  const own = () => node.raw<number>("getSlot", { commitment: "finalized" });
  faulty.trick = async ({ method, params: [config] }) => {
    const { commitment } = (config ?? {}) as { commitment?: string };
    return method === "getSlot" && commitment === "finalized" ? await own() : undefined;
  };
  await node.mine(40);
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await mine();
  await node.pay(deposit.address, 2n * SOL);
  const slot = await node.raw<number>("getSlot", { commitment: "confirmed" });
  ok(slot - await own() >= 30, `${slot} and ${await own()}`);
  while (await own() < slot) {
    await mine(5);
    const credited = (await fixture.deposits()).length;
    equal(credited, Number(await own() >= slot), `${await own()} of ${slot}`);
  }
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["CONFIRMED"]);
});
