/** Bookings of a sweep's fee and settlement, to the last unit, with concurrent changes. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { newId } from "../../domain/ids.ts";
import { settleSweep } from "../../domain/deposits/sweeps.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { settleSweepJob, sweepJob } from "../../workers/sweeping/sweeps.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { COIN, hurry, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;

Deno.test("an owner cannot take its deposit from under the sweep, and stops nobody's withdrawals", async () => {
  await using fixture = await openRampFixture({ env: { ETHEREUM_TESTNET_CONFIRMATIONS: "3" } });
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const user = await realm.user({ role: "user", scope: "own" });
  const held = { owner: user.id, holder: user.identity };
  const fields = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id, ...held };
  const virtual = (await send("POST", "/v1/accounts", fields)).body.id;
  await realm.drain();
  const made = (await user.send("POST", `/v1/account/${virtual}/address`, {})).body;
  await realm.drain();
  await anvil.pool({ to: made.address.address, value: ETHER });
  await mineUntil(fixture, async () => await sweepsIn(fixture, "'sent', 'mined'") > 0);
  const taken = await user.send("POST", "/v1/transactions", {
    source: { account: made.id },
    destination: { account: virtual },
    value: "1",
  });
  deepEqual([taken.status, taken.body.code], [409, "balance.insufficient"]);
  const block = await user.send("POST", `/v1/accounts/${made.id}/blocks`, { amount: "1" });
  deepEqual([block.status, block.body.code], [409, "balance.insufficient"]);
  // The states of the account are its owner's to change, and change nothing about the sweep.
  const act = async (what: string) =>
    (await user.send("POST", `/v1/accounts/${made.id}/${what}`)).status;
  deepEqual([await act("freeze"), await act("deactivate")], [200, 409]);
  equal((await user.send("DELETE", `/v1/accounts/${made.id}`)).body.code, "account.not_empty");
  await mineUntil(fixture, async () => (await doneSweeps(fixture)) === 1);
  await fixture.mine(2);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  const { total } = (await fixture.account(virtual)).balance;
  equal(total, (await fixture.account(ramp.id)).balance.assets);
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  const out = { source: { account: virtual }, destination: { address: OUTSIDE }, value: "0.1" };
  equal((await user.send("POST", "/v1/withdrawals", out)).status, 201);
});

Deno.test("a sweep of everything that took value not credited yet: it is forwarded when it is credited", async () => {
  const made: FaultyNode[] = [];
  await using fixture = await openRampFixture({
    env: { ETHEREUM_TESTNET_CONFIRMATIONS: "4" },
    through: (url) => {
      made.push(startFaultyNode(url));
      return made[0].url;
    },
  });
  const [faulty] = made;
  await using _faulty = faulty;
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const fields = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const virtual = (await send("POST", "/v1/accounts", fields)).body.id;
  await realm.drain();
  const app = (await send("POST", "/v1/apps/deposit", {
    destination: { account: virtual },
    asset: "ETH",
  })).body;
  await realm.drain();
  const { account, deposit_address: to } = app.source;
  await anvil.pool({ to, value: ETHER });
  // The node answers the sweep's decision, and then not its sending.
  let prices = 0;
  faulty.trick = ({ method }) => {
    const late = method === "eth_feeHistory" && ++prices > 1;
    return late ? new Response("busy", { status: 503 }) : undefined;
  };
  for (let round = 0; round < 8 && await sweepsIn(fixture, "'new'") === 0; round++) {
    await fixture.mine();
  }
  equal(await sweepsIn(fixture, "'new'"), 1);
  await anvil.pool({ to, value: 2n * ETHER });
  await anvil.mine();
  faulty.trick = () => undefined;
  // Orders are carried out, and the scanner does not run: it is behind.
  for (let round = 0; round < 10 && await doneSweeps(fixture) === 0; round++) {
    await hurry(realm);
    await realm.drain();
    await anvil.mine();
  }
  const [early] = await rowsOf<{ amount: string; ahead: string }>(
    realm,
    "select amount::text, ahead::text from sweeps",
  );
  ok(Number(early.amount) < 1 && Number(early.ahead) === 2, JSON.stringify(early));
  await mineUntil(fixture, async () => Number((await fixture.account(virtual)).balance.total) > 2);
  await fixture.mine(2);
  const { total } = (await fixture.account(virtual)).balance;
  equal(
    total,
    (await fixture.account(ramp.id)).balance.assets,
    "all that the ramp holds is credited",
  );
  ok(total.startsWith("2.999"), total);
  equal((await fixture.account(account)).balance.total, "0");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  const forwards = (await send("GET", "/v1/deposits/all?fields=forward.status")).body;
  deepEqual(forwards.map((one: { forward: unknown }) => one.forward), [
    { status: "DONE" },
    { status: "DONE" },
  ]);
  equal((await send("GET", `/v1/apps/deposit/${app.id}`)).body.status, "DONE");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a fee above the credited value is borne by the fees, and given back from later deposits", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: deposit.address, value: 1000n });
  await fixture.mine(3);
  equal((await fixture.account(deposit.id)).balance.total, "0.000000000000001");
  // As a sweep of everything does that was priced low, and found 1 ETH more when it was sent.
  const fee = 21_000n * 10n ** 9n;
  const sent = ETHER + 1000n - fee;
  await settleCrafted(fixture, { account: deposit.id, ramp: ramp.id, sent, fee });
  equal((await fixture.account(deposit.id)).balance.total, "0");
  equal(await feesOf(fixture), "-0.000020999999999");
  // The first gives the fee back, and the rest of it goes on.
  for (const due of ["0.499979000000001", "0.999979000000001"]) {
    await anvil.pool({ to: deposit.address, value: ETHER / 2n });
    await fixture.mine(3);
    await mineUntil(fixture, async () => (await fixture.account(deposit.id)).balance.total === "0");
    equal((await fixture.account(ramp.id)).balance.total, due);
  }
  deepEqual([await feesOf(fixture), (await fixture.account(deposit.id)).balance.total], ["0", "0"]);
  const rest = "select id from sweeps where ahead > 0 or borne > 0";
  deepEqual(await rowsOf(realm, rest), []);
  await anvil.pool({ to: deposit.address, value: 1000n });
  await fixture.mine(3);
  const total = async (id: string) => (await fixture.account(id)).balance.total;
  const before = await total(deposit.id);
  await settleCrafted(fixture, { account: deposit.id, ramp: ramp.id, sent, fee, state: "dropped" });
  deepEqual([await feesOf(fixture), await total(deposit.id)], ["0", before], "no block has it");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a fee that the fees bore for a token's sweep is not given back before the sweep is measured, and nothing is told to be forwarded", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: deposit.address, value: 1000n });
  await fixture.mine(3);
  const fee = 21_000n * 10n ** 9n;
  // As on Celo, where a token's sweep is paid in the token itself: what it brought is measured after its end.
  const crafted = { account: deposit.id, ramp: ramp.id, sent: ETHER, fee, contract: "0xtoken" };
  await settleCrafted(fixture, crafted);
  await anvil.pool({ to: deposit.address, value: 2000n });
  await fixture.mine(3);
  const context = await workerContextOf(realm);
  await sweepJob(context, { account: deposit.id });
  context.chains.close();
  deepEqual(
    await rowsOf(realm, "select state, amount, trim_scale(borne)::text as borne from sweeps"),
    [{ state: "sweeping", amount: null, borne: "0.000020999999999" }],
  );
  const another = `insert into sweeps (id, account, ramp, chain, network, created_at)
    select gen_random_uuid(), account, ramp, chain, network, now() from sweeps`;
  await rejects(rowsOf(realm, another), { constraint_name: "sweeps_account" });
  const told = "select from events where type = 'deposit.forwarded'";
  deepEqual(await rowsOf(realm, told), []);
  equal((await fixture.account(deposit.id)).balance.total, "0.000000000000002");
});

Deno.test("coins that a sweep takes along before they are credited are credited, and go on", async () => {
  const env = { LITECOIN_TESTNET_CONFIRMATIONS: "4" };
  await using funded = await openUtxoRamp({ ...LITECOIN, env });
  const { node, realm, context } = funded;
  const place = { chain: "LITECOIN", network: "regtest" } as const;
  const scan = () =>
    scanNetwork({ ...context, actor: { ...context.actor, at: Date.now() } }, place);
  await funded.quote();
  await funded.deposit(COIN);
  await node.mine(4);
  await scan();
  const [{ account }] = await rowsOf<{ account: string }>(realm, "select account from deposits");
  await sweepJob(context, { account });
  equal((await rowsOf(realm, "select id from chain_orders where state = 'new'")).length, 1);
  await funded.deposit(2n * COIN);
  await node.mine();
  await scan();
  // Deep enough to be spent, by the node that the sender asks; the scanner has not run again.
  await node.mine(3);
  const states = async () =>
    (await rowsOf<{ state: string }>(realm, "select state from sweeps")).map((one) => one.state);
  for (let round = 0; round < 10 && !(await states()).includes("done"); round++) {
    await funded.advance();
    await node.mine();
  }
  const [early] = await rowsOf<{ ahead: string }>(realm, "select ahead::text from sweeps");
  equal(Number(early.ahead), 2);
  const total = async () => (await funded.account(funded.virtual)).balance.total;
  await funded.until(async () => (await total()).startsWith("2.9"));
  const sweeps = await rowsOf<{ state: string; ahead: string }>(
    realm,
    "select state, ahead::text from sweeps",
  );
  deepEqual(sweeps, [{ state: "done", ahead: "0" }], "one sweep took both");
  equal((await funded.account(account)).balance.total, "0");
  await funded.agree();
});

Deno.test("value that a sweep's account received meanwhile is carried by that sweep, or by the next", async () => {
  const made: FaultyNode[] = [];
  await using fixture = await openRampFixture({
    through: (url) => {
      made.push(startFaultyNode(url));
      return made[0].url;
    },
  });
  const [faulty] = made;
  await using _faulty = faulty;
  const { anvil, realm } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: deposit.address, value: ETHER });
  let prices = 0;
  faulty.trick = ({ method }) => {
    const late = method === "eth_feeHistory" && ++prices > 1;
    return late ? new Response("busy", { status: 503 }) : undefined;
  };
  for (let round = 0; round < 8 && await sweepsIn(fixture, "'new'") === 0; round++) {
    await fixture.mine();
  }
  await anvil.pool({ to: deposit.address, value: ETHER });
  await fixture.mine(4);
  deepEqual((await fixture.deposits()).map((one) => one.status), ["CONFIRMED", "CONFIRMED"]);
  equal(await sweepsIn(fixture, "'new'"), 1, "it takes what it finds, also what came after it");
  faulty.trick = () => undefined;
  await mineUntil(fixture, async () => await doneSweeps(fixture) === 1);
  const forwards = (await realm.admin.send("GET", "/v1/deposits/all?fields=forward.status")).body;
  deepEqual(forwards.map((one: { forward: unknown }) => one.forward), [
    { status: "DONE" },
    { status: "DONE" },
  ]);
  for (let i = 0; i < 3; i++) {
    await anvil.pool({ to: deposit.address, value: ETHER });
    await fixture.mine();
  }
  await mineUntil(
    fixture,
    async () => (await fixture.account(ramp.id)).balance.total.startsWith("4.9"),
  );
  equal((await fixture.account(deposit.id)).balance.total, "0");
  await fixture.mine(2);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("tokens that a sweep takes along before they are credited are credited, and go on", async () => {
  await using fixture = await openRampFixture({
    testnet: false,
    env: { ETHEREUM_CONFIRMATIONS: "3" },
  });
  const { anvil, realm } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  const context = await workerContextOf(realm);
  const now = () => ({ ...context, actor: { ...context.actor, at: Date.now() } });
  const scan = () => scanNetwork(now(), { chain: "ETHEREUM", network: "main" });
  await anvil.pool({ to: deposit.address, value: ETHER });
  await token.pay(deposit.address, 10_000_000n);
  for (let round = 0; round < 4; round++) {
    await anvil.mine();
    await scan();
  }
  await sweepJob(now(), { account: deposit.id });
  equal(await sweepsIn(fixture, "'new'"), 1);
  await token.pay(deposit.address, 5_000_000n);
  await anvil.mine();
  const done = () =>
    rowsOf<{ id: string }>(
      realm,
      "select reference_id as id from chain_orders where state = 'done'",
    );
  for (let round = 0; round < 10 && (await done()).length === 0; round++) {
    const open =
      "select id as order, schedule_version as version from chain_orders where state in " +
      "('new', 'planned', 'signed', 'sent', 'mined')";
    for (const seen of await rowsOf<{ order: string; version: number }>(realm, open)) {
      await advanceOrder(now(), seen);
    }
    await anvil.mine();
  }
  await settleSweepJob(now(), { sweep: (await done())[0].id });
  equal((await fixture.account(ramp.id)).balance.total, "10", "the rest is not credited yet");
  for (let round = 0; round < 4; round++) {
    await anvil.mine();
    await scan();
  }
  await sweepJob(now(), { account: deposit.id });
  context.chains.close();
  await fixture.mine(2);
  const { total, assets } = (await fixture.account(ramp.id)).balance;
  deepEqual([total, assets], ["15", "15"]);
  deepEqual(await driftsOf(fixture), [["USDC", "0"]]);
});

/** Books the end of a sweep that says it sent so much, for such a fee. */
async function settleCrafted(
  fixture: RampFixture,
  of: {
    account: string;
    ramp: string;
    sent: bigint;
    fee: bigint;
    contract?: string;
    state?: "done" | "dropped";
  },
): Promise<void> {
  const { realm } = fixture;
  const { state = "done" } = of;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const id = newId(actor.at);
  await realm.command(async (tx) => {
    const [sweep] = await tx<{ id: string }[]>`
      select id from sweeps where account = ${of.account} and state = 'waiting'`;
    await tx`
      insert into chain_orders (id, chain, network, ramp, purpose, reference_id, sender, request, created_at)
      select ${id}, d.chain, d.network, d.ramp, 'sweep', ${sweep.id}, d.address,
        jsonb_build_object('kind', 'pay', 'from', d.address, 'contract', null, 'payments',
          jsonb_build_array(jsonb_build_object('to', r.address, 'amount', '1'))), now()
      from addresses d join addresses r on r.account = d.ramp where d.account = ${of.account}`;
    await tx`update sweeps set state = 'sweeping', order_id = ${id} where id = ${sweep.id}`;
    const height = state === "done" ? 1 : null;
    const ended = { state, height, hash: "h", amount: `${of.sent}`, fee: `${of.fee}` };
    const order = { ...(await selectOrder(tx, id))!, contract: of.contract ?? "" };
    const end = () => settleSweep(tx, actor, { ...order, ...ended });
    await end();
    if (of.contract === undefined) await end(); // it has ended, and is not booked twice
  }, { lockLedger: true });
}

async function sweepsIn({ realm }: RampFixture, states: string): Promise<number> {
  const text = `select id from chain_orders where purpose = 'sweep' and state in (${states})`;
  return (await rowsOf(realm, text)).length;
}

async function doneSweeps({ realm }: RampFixture): Promise<number> {
  return (await rowsOf(realm, "select id from sweeps where state = 'done'")).length;
}

async function feesOf({ realm }: RampFixture): Promise<string> {
  const text = "select trim_scale(total)::text as total from accounts where system = 'fees'";
  return (await rowsOf<{ total: string }>(realm, text))[0].total;
}
