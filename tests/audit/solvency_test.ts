import { deepEqual, equal } from "node:assert/strict";
import { counterparty, postMove } from "../../domain/ledger/posting.ts";
import { add, toUnits } from "../../domain/money.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { COIN, hurry, LITECOIN } from "../support/utxo_fixture.ts";
import type { FundedRamp } from "../support/evm_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const testCoins = sharingUtxoRamp("LTC: solvency of one ramp", LITECOIN, !hasLitecoind());
const test = sharingFundedRamp("solvency of one ramp");
const testDeep = sharingFundedRamp("solvency of one ramp, step by step", { depth: 3 });

const PATH = "/v1/solvency?asset=ETH";
const ETHER = 10n ** 18n;

test("assets and liabilities agree before, while and after a withdrawal is on its way", async (funded) => {
  equal((await compared(funded)).drift, "0");
  const { body: { id } } = await funded.withdraw("1");
  deepEqual(await stateOf(funded), ["0", true]);
  await funded.advance();
  const sent = await compared(funded);
  deepEqual([sent.drift, sent.solvent, sent.assets], ["0", true, "10"]);
  equal(sent.sending.startsWith("1.0000"), true);
  equal(add(sent.sending, sent.liabilities), "10");
  await funded.anvil.mine();
  const mined = await compared(funded); // and no worker has read the block yet
  deepEqual([mined.drift, mined.sending, mined.solvent], ["0", "0", true]);
  await funded.advance();
  deepEqual(await stateOf(funded), ["0", true]);
  await funded.finish(id);
  const after = await compared(funded);
  deepEqual([after.drift, after.sending, after.solvent], ["0", "0", true]);
  equal(after.ramps[0].ramp, funded.ramp);
  const path = "/v1/solvency/history?asset=ETH&points=500";
  const { points } = (await funded.realm.admin.send("GET", path)).body;
  const { position: _, ramps: __, asset: ___, testnet: ____, ...last } = after;
  deepEqual(points.at(-1), last);
  deepEqual(points.map(({ drift }: { drift: string }) => drift), Array(points.length).fill("0"));
});

testDeep(
  "at every step that is written down of a withdrawal, chain and ledger agree to the last unit",
  async (funded) => {
    const seen = new Set<string>();
    const agree = async (step: string) => {
      seen.add(step);
      equal((await compared(funded)).drift, "0", step);
    };
    const { body: { id } } = await funded.withdraw("1");
    for (let round = 0; (await funded.read(id)).status === "PROCESSING" && round < 20; round++) {
      await funded.advance(agree);
      if (round === 0) {
        await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
        await agree("sped up");
        await funded.advance(agree);
      }
      await agree("looked at");
      await funded.anvil.mine();
      await agree("a block more");
    }
    equal((await funded.read(id)).status, "DONE");
    await agree("done");
    deepEqual(
      ["planned", "stored", "sending", "broadcast", "settled"].filter((one) => !seen.has(one)),
      [],
    );
  },
);

testDeep(
  "a withdrawal that the chain refuses leaves chain and ledger in agreement at every step",
  async (funded) => {
    const { body: { id } } = await funded.withdraw("1", { destination: { address: BURNER } });
    await funded.advance();
    await funded.anvil.rpc("anvil_setCode", BURNER, REVERTS);
    for (let round = 0; (await funded.read(id)).status === "PROCESSING" && round < 20; round++) {
      await funded.anvil.mine();
      equal((await compared(funded)).drift, "0");
      await funded.advance();
      equal((await compared(funded)).drift, "0");
    }
    equal((await funded.read(id)).status, "FAILED");
    equal((await compared(funded)).drift, "0");
  },
);

test("a missing amount stops withdrawals and raises an event, once; its return permits them again", async (funded) => {
  await leave(funded, 9n * ETHER);
  const missing = await compared(funded);
  deepEqual([missing.drift, missing.solvent], ["-1", false]);
  await compared(funded);
  const refused = await funded.withdraw("1");
  deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  await leave(funded, 10n * ETHER);
  deepEqual(await stateOf(funded), ["0", true]);
  equal((await funded.withdraw("1")).status, 201);
  equal((await toldOf(funded)).length, 2);
});

test("an unexplained surplus is reported, and stops nothing", async (funded) => {
  await leave(funded, 11n * ETHER);
  deepEqual(await stateOf(funded), ["1", true]);
  await compared(funded);
  equal((await toldOf(funded)).length, 1);
  equal((await funded.withdraw("1")).status, 201);
});

test("coins that are stolen while as many are on their way are missed at once", async (funded) => {
  await funded.withdraw("5");
  await funded.advance();
  await leave(funded, 6n * ETHER);
  const row = await compared(funded);
  deepEqual([row.drift, row.solvent], ["-4", false]);
  equal((await funded.withdraw("1")).body.code, "asset.suspended");
});

test("a loss of the house covers no liability: the asset is not solvent, and its withdrawals stop beyond the leeway", async (funded) => {
  await lose(funded, "0.09"); // below a hundredth of what is owed
  const some = await compared(funded);
  deepEqual([some.drift, some.fees, some.solvent], ["0", "-0.09", false]);
  equal((await toldOf(funded)).length, 1);
  equal((await funded.withdraw("0.1")).status, 201);
  await lose(funded, "3.87");
  const much = await compared(funded);
  deepEqual([much.drift, much.fees, much.solvent], ["0", "-3.96", false]);
  equal((await toldOf(funded)).length, 2);
  equal((await funded.withdraw("0.1")).body.code, "asset.suspended");
});

test("gas that moved nothing of the users' is borne by the fees, so that nothing drifts", async (funded) => {
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance((step) => {
    if (step === "stored") throw new Error("ended");
  }).catch(() => {});
  await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
  for (let round = 0; round < 4; round++) {
    await funded.advance();
    equal((await compared(funded)).drift, "0");
    await funded.anvil.mine();
    equal((await compared(funded)).drift, "0");
  }
  const after = await compared(funded);
  // The truth is told, and nobody can stop the withdrawals of others by canceling one's own.
  deepEqual([after.drift, after.solvent, after.liabilities], ["0", false, "10"]);
  equal(after.fees.startsWith("-0.0000"), true);
  equal((await funded.withdraw("1")).status, 201);
});

testCoins(
  "on a coin chain, chain and ledger agree at every step from the deposit to the payment",
  async (funded) => {
    const drift = async () => {
      await checkSolvency({
        ...funded.context,
        actor: { ...funded.context.actor, at: Date.now() },
      });
      return (await funded.realm.admin.send("GET", "/v1/solvency")).body[0]?.drift ?? "0";
    };
    const agree = async (step: string) => equal(await drift(), "0", step);
    await funded.deposit(9n * COIN);
    for (let round = 0; (await funded.account(funded.virtual)).balance.total === "0"; round++) {
      await funded.node.mine();
      await agree(`block ${round}`);
      await hurry(funded.realm);
      await funded.follow();
      await agree(`follow ${round}`);
      await funded.advance(agree);
    }
    await funded.quote();
    const to = await newParty("LITECOIN");
    const id = await funded.withdraw(to.address, "1", { fee: { speed: "slow" } });
    await funded.advance(agree);
    await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
    for (let round = 0; (await funded.withdrawal(id)).status === "PROCESSING"; round++) {
      await funded.advance(agree);
      await agree(`looked ${round}`);
      await funded.node.mine();
      await agree(`mined ${round}`);
      await funded.advance(agree);
      await agree(`looked ahead of the scanner ${round}`);
      await funded.follow();
      await agree(`followed ${round}`);
    }
    equal((await funded.withdrawal(id)).status, "DONE");
    await funded.agree();
  },
);

testCoins(
  "a coin that is stolen on a coin chain is missed while a payment is on its way, and written off",
  async (funded) => {
    await funded.fund(4n * COIN, 9n * COIN);
    const to = await newParty("LITECOIN");
    await funded.withdraw(to.address, "8.5", { source: { account: funded.ramp } });
    await funded.advance();
    const [{ input }] = await rowsOf<{ input: string }>(
      funded.realm,
      `select hash || ':' || index as input from coins where amount = ${4n * COIN}`,
    );
    await funded.rob((await newParty("LITECOIN")).address, input);
    await funded.follow();
    const compare = async (hoursAgo: number) => {
      const at = Date.now() - hoursAgo * 3_600_000;
      await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at } });
      const [row] = (await funded.realm.admin.send("GET", "/v1/solvency")).body;
      return [row.drift, row.fees, row.solvent];
    };
    for (const hoursAgo of [1, 0]) deepEqual(await compare(hoursAgo), ["-4", "0", false]);
    const coins = () => rowsOf(funded.realm, "select to_jsonb(c)::text from coins c order by 1");
    const before = await coins();
    const gone = { asset: "LTC", testnet: true, reason: "stolen" };
    const path = "/v1/solvency/write-off";
    // A reconciliation may find who was paid, and book it.
    equal((await funded.realm.admin.send("POST", path, gone)).body.code, "chain.quarantined");
    await funded.release();
    // The last comparison does not know what was booked at its end.
    equal((await funded.realm.admin.send("POST", path, gone)).body.code, "chain.quarantined");
    deepEqual(await compare(0), ["-4", "0", false]);
    const { status, text } = await funded.realm.admin.send("POST", path, gone);
    equal(status, 201, text);
    deepEqual(await compare(0), ["0", "-4", false]);
    deepEqual(await coins(), before);
  },
);

test("GET /v1/solvency is for administrators of the realm", async (funded) => {
  const user = await funded.realm.user({ scope: "realm" });
  equal((await user.send("GET", PATH)).body.code, "permission.role");
});

const BURNER = "0x00000000000000000000000000000000000b0b01";
/** revert(0, 0) */
const REVERTS = "0x60006000fd";

/** Sets the balance at the ramp's address. */
async function leave(funded: FundedRamp, wei: bigint): Promise<void> {
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${wei.toString(16)}`);
  await funded.anvil.mine();
}

/** Has the house lose coins, on the chain and in its books. */
async function lose(funded: FundedRamp, amount: string): Promise<void> {
  const actor = { ...funded.context.actor, at: Date.now() };
  const asset = { code: "ETH", decimals: 18, testnet: false };
  await funded.context.step(async (tx) => {
    const source = await counterparty(tx, actor, "fees", asset);
    const destination = await counterparty(tx, actor, "world", asset);
    await postMove(tx, actor, { type: "fee", source, destination, amount }, { force: true });
  }, { lockLedger: true });
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  await leave(funded, held - toUnits(amount, 18));
}

async function toldOf(funded: FundedRamp) {
  return await rowsOf(funded.realm, "select 1 from events where type = 'solvency.drift'");
}

async function stateOf(funded: FundedRamp): Promise<[drift: string, solvent: boolean]> {
  const { drift, solvent } = await compared(funded);
  return [drift, solvent];
}

/** Has the asset compared at the head, as a scanner that has come so far would let it. */
async function compared(funded: FundedRamp) {
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1, head = $1", [head]);
  const actor = { ...funded.context.actor, at: Date.now() };
  await checkSolvency({ ...funded.context, actor });
  const { body } = await funded.realm.admin.send("GET", PATH);
  return body[0];
}
