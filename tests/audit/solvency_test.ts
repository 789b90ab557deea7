import { deepEqual, equal } from "node:assert/strict";
import { counterparty, postMove } from "../../domain/ledger/posting.ts";
import { add, toUnits } from "../../domain/money.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { COIN, hurry, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { type Desk, openDesk } from "../support/evm_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const PATH = "/v1/solvency?asset=ETH";
const ETHER = 10n ** 18n;

Deno.test("assets and liabilities agree before, while and after a withdrawal is on its way", async () => {
  await using desk = await openDesk();
  equal((await compared(desk)).drift, "0");
  const { body: { id } } = await desk.withdraw("1");
  deepEqual(await stateOf(desk), ["0", true]);
  await desk.look();
  const sent = await compared(desk);
  deepEqual([sent.drift, sent.solvent, sent.assets], ["0", true, "10"]);
  equal(sent.sending.startsWith("1.0000"), true);
  equal(add(sent.sending, sent.liabilities), "10");
  await desk.anvil.mine();
  const mined = await compared(desk); // and nobody has looked yet
  deepEqual([mined.drift, mined.sending, mined.solvent], ["0", "0", true]);
  await desk.look();
  deepEqual(await stateOf(desk), ["0", true]);
  await desk.finish(id);
  const after = await compared(desk);
  deepEqual([after.drift, after.sending, after.solvent], ["0", "0", true]);
  equal(after.ramps[0].ramp, desk.ramp);
});

Deno.test("at every step that is written down of a withdrawal, chain and ledger agree to the last unit", async () => {
  await using desk = await openDesk({ depth: 3 });
  const seen = new Set<string>();
  const agree = async (step: string) => {
    seen.add(step);
    equal((await compared(desk)).drift, "0", step);
  };
  const { body: { id } } = await desk.withdraw("1");
  for (let round = 0; (await desk.read(id)).status === "PROCESSING" && round < 20; round++) {
    await desk.look(agree);
    if (round === 0) {
      await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
      await agree("hastened");
      await desk.look(agree);
    }
    await agree("looked at");
    await desk.anvil.mine();
    await agree("a block more");
  }
  equal((await desk.read(id)).status, "DONE");
  await agree("done");
  deepEqual(
    ["planned", "stored", "sending", "broadcast", "settled"].filter((one) => !seen.has(one)),
    [],
  );
});

Deno.test("a withdrawal that the chain refuses leaves chain and ledger in agreement at every step", async () => {
  await using desk = await openDesk({ depth: 3 });
  const { body: { id } } = await desk.withdraw("1", { destination: { address: BURNER } });
  await desk.look();
  await desk.anvil.rpc("anvil_setCode", BURNER, REVERTS);
  for (let round = 0; (await desk.read(id)).status === "PROCESSING" && round < 20; round++) {
    await desk.anvil.mine();
    equal((await compared(desk)).drift, "0");
    await desk.look();
    equal((await compared(desk)).drift, "0");
  }
  equal((await desk.read(id)).status, "FAILED");
  equal((await compared(desk)).drift, "0");
});

Deno.test("what is missing stops withdrawals and raises an event, once; what is back frees them", async () => {
  await using desk = await openDesk();
  await leave(desk, 9n * ETHER);
  const missing = await compared(desk);
  deepEqual([missing.drift, missing.solvent], ["-1", false]);
  await compared(desk);
  const refused = await desk.withdraw("1");
  deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  await leave(desk, 10n * ETHER);
  deepEqual(await stateOf(desk), ["0", true]);
  equal((await desk.withdraw("1")).status, 201);
  equal((await toldOf(desk)).length, 2);
});

Deno.test("a surplus that nothing explains is told, and stops nothing", async () => {
  await using desk = await openDesk();
  await leave(desk, 11n * ETHER);
  deepEqual(await stateOf(desk), ["1", true]);
  await compared(desk);
  equal((await toldOf(desk)).length, 1);
  equal((await desk.withdraw("1")).status, 201);
});

Deno.test("coins that are stolen while as many are on their way are missed at once", async () => {
  await using desk = await openDesk();
  await desk.withdraw("5");
  await desk.look();
  await leave(desk, 6n * ETHER);
  const row = await compared(desk);
  deepEqual([row.drift, row.solvent], ["-4", false]);
  equal((await desk.withdraw("1")).body.code, "asset.suspended");
});

Deno.test("what the house has lost covers nobody: it is not solvent, and stops beyond the leeway", async () => {
  await using desk = await openDesk();
  await lose(desk, "0.09"); // below a hundredth of what is owed
  const some = await compared(desk);
  deepEqual([some.drift, some.fees, some.solvent], ["0", "-0.09", false]);
  equal((await toldOf(desk)).length, 1);
  equal((await desk.withdraw("0.1")).status, 201);
  await lose(desk, "3.87");
  const much = await compared(desk);
  deepEqual([much.drift, much.fees, much.solvent], ["0", "-3.96", false]);
  equal((await toldOf(desk)).length, 2);
  equal((await desk.withdraw("0.1")).body.code, "asset.suspended");
});

Deno.test("gas that moved nothing of the users' is borne by the fees, so that nothing drifts", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await desk.look((step) => {
    if (step === "stored") throw new Error("ended");
  }).catch(() => {});
  await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
  for (let round = 0; round < 4; round++) {
    await desk.look();
    equal((await compared(desk)).drift, "0");
    await desk.anvil.mine();
    equal((await compared(desk)).drift, "0");
  }
  const after = await compared(desk);
  // The truth is told, and nobody can stop the withdrawals of others by canceling one's own.
  deepEqual([after.drift, after.solvent, after.liabilities], ["0", false, "10"]);
  equal(after.fees.startsWith("-0.0000"), true);
  equal((await desk.withdraw("1")).status, 201);
});

Deno.test({
  name: "on a coin chain, chain and ledger agree at every step from the deposit to the payment",
  ignore: !hasLitecoind(),
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    const drift = async () => {
      await checkSolvency({ ...desk.context, actor: { ...desk.context.actor, at: Date.now() } });
      return (await desk.realm.admin.send("GET", "/v1/solvency")).body[0]?.drift ?? "0";
    };
    const agree = async (step: string) => equal(await drift(), "0", step);
    await desk.deposit(9n * COIN);
    for (let round = 0; (await desk.account(desk.virtual)).balance.total === "0"; round++) {
      await desk.node.mine();
      await agree(`block ${round}`);
      await hurry(desk.realm);
      await desk.follow();
      await agree(`follow ${round}`);
      await desk.look(agree);
    }
    await desk.quote();
    const to = await newParty("LITECOIN");
    const id = await desk.withdraw(to.address, "1", { fee: { speed: "slow" } });
    await desk.look(agree);
    await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
    for (let round = 0; (await desk.withdrawal(id)).status === "PROCESSING"; round++) {
      await desk.look(agree);
      await agree(`looked ${round}`);
      await desk.node.mine();
      await agree(`mined ${round}`);
      await desk.look(agree);
      await agree(`looked ahead of the scanner ${round}`);
      await desk.follow();
      await agree(`followed ${round}`);
    }
    equal((await desk.withdrawal(id)).status, "DONE");
    await desk.agree();
  },
});

Deno.test({
  name: "a coin that is stolen on a coin chain is missed while a payment is on its way",
  ignore: !hasLitecoind(),
  async fn() {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(4n * COIN, 9n * COIN);
    const to = await newParty("LITECOIN");
    await desk.withdraw(to.address, "8.5", { source: { account: desk.ramp } });
    await desk.look();
    const [{ claim }] = await rowsOf<{ claim: string }>(
      desk.realm,
      `select hash || ':' || index as claim from coins where amount = ${4n * COIN}`,
    );
    await desk.rob((await newParty("LITECOIN")).address, claim);
    await desk.follow();
    await checkSolvency({ ...desk.context, actor: { ...desk.context.actor, at: Date.now() } });
    const [row] = (await desk.realm.admin.send("GET", "/v1/solvency")).body;
    deepEqual([row.drift, row.solvent], ["-4", false]);
  },
});

Deno.test("GET /v1/solvency is for administrators of the realm", async () => {
  await using desk = await openDesk();
  const user = await desk.realm.user({ scope: "realm" });
  equal((await user.send("GET", PATH)).body.code, "permission.role");
});

const BURNER = "0x00000000000000000000000000000000000b0b01";
/** revert(0, 0) */
const REVERTS = "0x60006000fd";

/** Sets what lies at the ramp's address. */
async function leave(desk: Desk, wei: bigint): Promise<void> {
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${wei.toString(16)}`);
  await desk.anvil.mine();
}

/** Has the house lose coins, on the chain and in its books. */
async function lose(desk: Desk, amount: string): Promise<void> {
  const actor = { ...desk.context.actor, at: Date.now() };
  const asset = { code: "ETH", decimals: 18, testnet: false };
  await desk.context.step(async (tx) => {
    const source = await counterparty(tx, actor, "fees", asset);
    const destination = await counterparty(tx, actor, "world", asset);
    await postMove(tx, actor, { type: "fee", source, destination, amount }, { force: true });
  }, { lockLedger: true });
  const held = BigInt(await desk.anvil.rpc<string>("eth_getBalance", desk.address, "latest"));
  await leave(desk, held - toUnits(amount, 18));
}

async function toldOf(desk: Desk) {
  return await rowsOf(desk.realm, "select 1 from events where type = 'solvency.drift'");
}

async function stateOf(desk: Desk): Promise<[drift: string, solvent: boolean]> {
  const { drift, solvent } = await compared(desk);
  return [drift, solvent];
}

/** Has the asset compared at the head, as a scanner that has come so far would let it. */
async function compared(desk: Desk) {
  const head = parseInt(await desk.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(desk.realm, "update chain_cursors set height = $1, head = $1", [head]);
  const actor = { ...desk.context.actor, at: Date.now() };
  await checkSolvency({ ...desk.context, actor });
  const { body } = await desk.realm.admin.send("GET", PATH);
  return body[0];
}
