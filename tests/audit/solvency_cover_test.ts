import { deepEqual, equal, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { counterparty, postMove } from "../../domain/ledger/posting.ts";
import { toUnits } from "../../domain/money.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { isHouseAccount } from "../../db/audit/solvency.ts";
import { lossMaxOf } from "../../domain/withdrawal_settings.ts";
import { tampering } from "../support/tamper.ts";
import { credit, type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("losses of the house on one ramp");

/** One wei. */
const DIGIT = "0.000000000000000001";
const PATH = "/v1/solvency/cover";

test("a loss of the house is covered out of its own account, and customers are owed no more than is there", async (funded) => {
  await own(funded);
  await lose(funded, "3.96");
  const before = await compared(funded);
  deepEqual([before.drift, before.solvent, before.liabilities], ["0", false, "10"]);
  equal((await funded.withdraw("0.1")).body.code, "asset.suspended");
  await payIn(funded, "5");
  equal((await compared(funded)).solvent, false); // the amount paid in is owed to its payer
  const body = { account: funded.ramp, reason: "fees of March" };
  const tried = await funded.realm.admin.send("POST", `${PATH}?dry_run=true`, body);
  deepEqual([tried.status, tried.body.amount, tried.body.loss], [201, "3.96", "0"]);
  equal((await compared(funded)).fees, "-3.96");
  const key = { "idempotency-key": "covered" };
  const some = await funded.realm.admin.send("POST", PATH, { ...body, amount: "0.96" }, key);
  deepEqual([some.status, some.body.amount, some.body.loss], [201, "0.96", "3"]);
  const again = await funded.realm.admin.send("POST", PATH, { ...body, amount: "0.96" }, key);
  deepEqual([again.status, again.body, again.headers.get("idempotency-replayed")], [
    201,
    some.body,
    "true",
  ]);
  const rest = await funded.realm.operator("POST", PATH, { ...body, realm: funded.realm.id });
  deepEqual([rest.status, rest.body.amount, rest.body.loss], [201, "3", "0"], rest.text);
  const after = await compared(funded);
  deepEqual([after.drift, after.fees, after.solvent, after.liabilities], ["0", "0", true, "11.04"]);
  equal((await funded.withdraw("0.1")).status, 201);
  const more = await funded.realm.admin.send("POST", PATH, body);
  deepEqual([more.status, more.body.code], [409, "condition.failed"]);
  const { body: shown } = await funded.realm.admin.send(
    "GET",
    `/v1/transactions/${rest.body.transaction}`,
  );
  deepEqual(shown.seal, { covers: "loss", reason: "fees of March" });
  const undone = await funded.realm.admin.send("POST", `/v1/transactions/${shown.id}/revert`, {});
  ok(undone.status >= 400, undone.text);
  const { mismatches } = await checkLedger(funded.realm.pool);
  // The funded's deposits are postings alone.
  deepEqual(mismatches.filter(({ code }) => code !== "deposit.transaction"), []);
  const trail = "select 1 from audit where action = 'POST /v1/solvency/cover'";
  equal((await rowsOf(funded.realm, trail)).length, 2);
});

test("nobody but administrators covers a loss, and nothing of customers does", async (funded) => {
  const { realm } = funded;
  const customer = await realm.user({ role: "user", scope: "own" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const local = await realm.user({ role: "admin", scope: "own" });
  await lose(funded, "1");
  await payIn(funded, "5");
  const made = async (fields: Record<string, unknown>) => {
    const body = { type: "virtual", asset: "ETH", ramp: funded.ramp, ...fields };
    const { body: { id } } = await realm.admin.send("POST", "/v1/accounts", body);
    await realm.drain();
    await credit(realm, id, "2");
    return id;
  };
  const theirs = await made({ owner: customer.id, holder: customer.identity });
  const held = await made({ holder: customer.identity });
  // A deactivated or deleted user no longer runs the realm.
  const ours = await made({ owner: manager.id, holder: manager.identity });
  const isOurs = (...changes: string[]) =>
    tampering(realm, changes, (tx) => isHouseAccount(tx, ours));
  const gone = (what: string) => isOurs(`update users set ${what} where id = '${manager.id}'`);
  deepEqual(
    [await isOurs(), await gone("active = false"), await gone("deleted_at = now()")],
    [true, false, false],
  );
  const code = async (account: unknown, by = realm.admin.send, more: object = {}) => {
    const answer = await by("POST", PATH, { account, amount: "1", reason: "r", ...more });
    return [answer.status, answer.body.code];
  };
  deepEqual(await code(funded.ramp, customer.send), [403, "permission.role"]);
  deepEqual(await code(funded.ramp, manager.send), [403, "permission.role"]);
  deepEqual(await code(funded.ramp, local.send), [403, "permission.scope"]);
  equal((await code(funded.ramp, realm.nobody))[0], 401);
  deepEqual(await code(theirs), [403, "permission.owner"]);
  deepEqual(await code(held), [403, "permission.owner"]);
  deepEqual(await code("nothing"), [404, "account.not_found"]);
  const [{ id: fees }] = await rowsOf<{ id: string }>(
    realm,
    "select id from accounts where system = 'fees'",
  );
  ok([403, 404].includes((await code(fees))[0] as number));
  deepEqual(await code(funded.ramp, realm.operator), [400, "request.invalid"]);
  const nowhere = { realm: crypto.randomUUID() };
  deepEqual(await code(funded.ramp, realm.operator, nowhere), [404, "realm.not_found"]);
  const refused = [409, "condition.failed"];
  deepEqual(await code(funded.ramp, realm.admin.send, { amount: "1.000000000000000001" }), refused);
  const fine = { amount: "0.0000000000000000001" };
  deepEqual(await code(funded.ramp, realm.admin.send, fine), [400, "request.invalid"]);
  deepEqual(await code(funded.ramp, realm.admin.send, { amount: "0" }), [400, "request.invalid"]);
  const path = `/v1/accounts/${funded.ramp}`;
  await realm.admin.send("POST", `${path}/freeze`);
  deepEqual(await code(funded.ramp), [409, "account.frozen"]);
  await realm.admin.send("POST", `${path}/unfreeze`);
  await realm.admin.send("POST", `${path}/blocks`, { amount: "4.5" });
  deepEqual(await code(funded.ramp), [409, "balance.insufficient"]);
  equal((await compared(funded)).fees, "-1");
});

Deno.test("a hundredth of the liabilities, or the realm's setting, may be lost before withdrawals stop, and not a digit more", async () => {
  await using funded = await openFundedRamp();
  const asked = async () => (await funded.withdraw("0.01")).body.code ?? "created";
  await lose(funded, "0.1"); // of 10
  equal((await compared(funded)).solvent, false);
  equal(await asked(), "created");
  await lose(funded, DIGIT);
  await compared(funded);
  equal(await asked(), "asset.suspended");
  // A setting of the test network has no effect on the main one.
  const set = async (loss_max: string) => {
    const body = { withdrawals: { ETH: { loss_max, testnet_loss_max: "0" } } };
    const { status, text } = await funded.realm.operator(
      "PATCH",
      `/v1/realms/${funded.realm.id}`,
      body,
    );
    equal(status, 200, text);
    const withdrawals = body.withdrawals;
    const { actor } = funded.context;
    Object.assign(funded.context, { actor: { ...actor, realm: { ...actor.realm, withdrawals } } });
    await compared(funded);
  };
  await set("0.2");
  equal(await asked(), "created");
  await lose(funded, "0.1");
  await compared(funded);
  equal(await asked(), "asset.suspended");
  await set(`0.2${DIGIT.slice(3)}`);
  equal(await asked(), "created");
  await set("0.05"); // less than a hundredth
  equal(await asked(), "asset.suspended");
  await set("0");
  equal(await asked(), "asset.suspended");
  await payIn(funded, "1");
  const body = { account: funded.ramp, reason: "r" };
  equal((await funded.realm.admin.send("POST", PATH, body)).status, 201);
  await compared(funded);
  equal(await asked(), "created");
});

Deno.test("if little is owed, the house may lose the cost of a hundred payments before withdrawals stop", async () => {
  await using funded = await openFundedRamp({ total: "0.02" });
  const [{ cost }] = await rowsOf<{ cost: string }>(
    funded.realm,
    `select trim_scale((base + per_payment) * 100 / 1e18)::text as cost from fee_quotes
      where chain = 'ETHEREUM' and contract = '' and speed = 'medium'`,
  );
  await change(funded, toUnits("0.02", 18) - 10n ** 19n);
  await lose(funded, cost);
  const row = await compared(funded);
  deepEqual([row.drift, row.solvent], ["0", false]);
  equal((await funded.withdraw("0.001")).status, 201);
  await lose(funded, DIGIT);
  await compared(funded);
  equal((await funded.withdraw("0.001")).body.code, "asset.suspended");
});

test("two concurrent covers of one loss cover it once", async (funded) => {
  await lose(funded, "1");
  await payIn(funded, "5");
  const body = { account: funded.ramp, amount: "0.7", reason: "r" };
  const answers = await Promise.all(
    [1, 2, 3].map(() => funded.realm.admin.send("POST", PATH, body)),
  );
  deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409]);
  equal((await compared(funded)).fees, "-0.3");
});

test("a stop of moves keeps a loss from being covered", async (funded) => {
  await lose(funded, "1");
  await payIn(funded, "5");
  const stop = { what: "moves", asset: "ETH", reason: "look first" };
  equal((await funded.realm.admin.send("POST", "/v1/stops", stop)).status, 201);
  const refused = await funded.realm.admin.send("POST", PATH, {
    account: funded.ramp,
    reason: "r",
  });
  deepEqual([refused.status, refused.body.code], [409, "stop.active"]);
});

/** Leaves nothing at the ramp's account itself, so that all is owed to the virtual account. */
async function own(funded: FundedRamp): Promise<void> {
  equal((await funded.books()).ramp, "0");
  equal((await compared(funded)).solvent, true);
}

/** Somebody of the house sends coins to the ramp's address, and the deposit is booked. */
async function payIn(funded: FundedRamp, amount: string): Promise<void> {
  await credit(funded.realm, funded.ramp, amount);
  await change(funded, toUnits(amount, 18));
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
  await change(funded, -toUnits(amount, 18));
}

async function change(funded: FundedRamp, wei: bigint): Promise<void> {
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${(held + wei).toString(16)}`);
  await funded.anvil.mine();
}

/** Has the asset compared at the head, as a scanner that has come so far would let it. */
async function compared(funded: FundedRamp) {
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1, head = $1", [head]);
  const actor = { ...funded.context.actor, at: Date.now() };
  await checkSolvency({ ...funded.context, actor });
  const { body } = await funded.realm.admin.send("GET", "/v1/solvency?asset=ETH");
  return body[0];
}

Deno.test("the limit of the house's loss is set for each network of an asset", () => {
  const settings = { ETH: { loss_max: "5", testnet_loss_max: "0" }, BTC: { loss_max: "1" } };
  const of = (asset: string, testnet: boolean) => lossMaxOf(settings, { asset, testnet });
  deepEqual([of("ETH", false), of("ETH", true)], ["5", "0"]);
  deepEqual([of("BTC", false), of("BTC", true), of("LTC", false)], ["1", null, null]);
  equal(lossMaxOf(undefined, { asset: "ETH", testnet: false }), null);
});
