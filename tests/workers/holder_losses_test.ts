import { deepEqual, equal, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/checks.ts";
import { BORNE } from "../../domain/holder_losses.ts";
import { compare, fromUnits, toUnits } from "../../domain/money.ts";
import { refreshFees } from "../../workers/fees.ts";
import { checkSolvency } from "../../workers/solvency.ts";
import { benchOf, credit, type Desk, openDesk, OUTSIDE } from "../support/desk.ts";
import { type Answer, rowsOf, type TestUser } from "../support/realm.ts";

const COIN = 10n ** 18n;
const BURNER = "0x00000000000000000000000000000000000b0b01";
/** A loop of a thousand rounds, each about 26 gas, then stop: more than twice what a payment takes. */
const BURNS = "0x620003e85b600190038060045700";
const ATTEMPTS = 6;

Deno.test("one customer whose destinations burn gas cannot bring the house to where withdrawals stop", async () => {
  await using desk = await openDesk({ coins: 15n * COIN });
  const { realm } = desk;
  await desk.anvil.rpc("anvil_setCode", BURNER, BURNS);
  const customer = await customerOf(desk);
  const first = await drawn(desk, customer, BURNER);
  const fee = toUnits((await costOf(desk, first.id)).fee, 18);
  await setLossMax(desk, fromUnits(4n * fee, 18));
  const ids = [first.id];
  for (let one = 1; one < ATTEMPTS; one++) ids.push((await drawn(desk, customer, BURNER)).id);
  const rows = await Promise.all(ids.map((id) => desk.read(id)));
  const done = rows.filter(({ status }) => status === "DONE");
  const waiting = rows.filter(({ status }) => status === "PROCESSING");
  ok(done.length > 0 && waiting.length > 0, JSON.stringify(rows.map(({ status }) => status)));
  for (const { history } of waiting) equal(history.at(-1).reason, BORNE);
  const lost = toUnits((await desk.books()).fees, 18);
  ok(lost < 0n && lost > -4n * fee, `${lost} of ${fee}`);
  await compared(desk);
  const [{ stopped }] = await rowsOf<{ stopped: boolean }>(realm, "select stopped from solvency");
  equal(stopped, false);
  // Others go on, as does the same customer where it costs no more than was charged.
  const other = await desk.withdraw("1");
  equal(other.status, 201, other.text);
  equal(await follow(desk, other.body.id), "DONE");
  const plain = await drawn(desk, customer, OUTSIDE, () => desk.anvil.mine());
  equal(plain.status, "DONE", JSON.stringify((await desk.read(plain.id)).history));
  const { cost, fee: charged } = await costOf(desk, plain.id);
  ok(compare(cost, charged) <= 0, `${cost} of ${charged}`);
  // What is canceled once it is signed leaves a nonce that the house fills: not for this customer.
  const path = `/v1/withdrawals/${await asked(desk, customer, OUTSIDE)}`;
  let refused: Answer | null = null;
  await desk.look(async (step) => {
    if (step === "stored") refused ??= await customer.user.send("POST", `${path}/cancel`);
  });
  deepEqual([refused!.status, refused!.body.code], [429, "rate.limited"], refused!.text);
  const canceled = await customer.user.send("POST", `/v1/withdrawals/${waiting[0].id}/cancel`);
  deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a customer whose payments cost no more than was charged makes none dearer by a speed-up", async () => {
  await using desk = await openDesk({ coins: 15n * COIN });
  const { realm, anvil } = desk;
  const customer = await customerOf(desk);
  await rowsOf(
    realm,
    `insert into holder_losses (holder, asset, testnet, day, lost)
      select holder, asset, testnet, (now() at time zone 'utc')::date, 1 from accounts where id = $1`,
    [customer.account],
  );
  const id = await asked(desk, customer, BURNER);
  await desk.look();
  const order = "select state, fee <= charged as covered from orders where purpose = 'withdrawal'";
  deepEqual([...await rowsOf(realm, order)], [{ state: "sent", covered: true }]);
  await anvil.rpc("anvil_setCode", BURNER, BURNS);
  const path = `/v1/withdrawals/${id}/speed-up`;
  equal((await customer.user.send("POST", path, { speed: "fast" })).status, 200);
  await desk.look();
  await desk.look();
  const error = await rowsOf<{ error: string }>(realm, "select error from orders");
  deepEqual([...await rowsOf(realm, order)], [{ state: "sent", covered: true }], error[0].error);
});

/** What a withdrawal was charged, and what it cost. */
async function costOf({ realm }: Desk, id: string): Promise<{ cost: string; fee: string }> {
  const text = "select cost::text, fee::text from withdrawals where id = $1";
  return (await rowsOf<{ cost: string; fee: string }>(realm, text, [id]))[0];
}

type Customer = { user: TestUser; account: string };

/** Somebody with an account on the house's ramp. */
async function customerOf({ realm, ramp }: Desk): Promise<Customer> {
  const user = await realm.user();
  const made = await realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", asset: "ETH", ramp },
    ...{ owner: user.id, holder: user.identity },
  });
  equal(made.status, 201, made.text);
  await realm.drain();
  await credit(realm, made.body.id, "5");
  return { user, account: made.body.id };
}

/** Withdraws a little, and follows it until it has ended or waits. */
async function drawn(
  desk: Desk,
  customer: Customer,
  address: string,
  mine?: () => Promise<unknown>,
) {
  const id = await asked(desk, customer, address);
  return { id, status: await follow(desk, id, mine) };
}

/** Withdraws a little, at the price of this moment. */
async function asked(
  desk: Desk,
  { user, account }: Customer,
  address: string,
): Promise<string> {
  const bench = await benchOf(desk.realm);
  await refreshFees(bench);
  bench.chains.close();
  const made = await user.send("POST", "/v1/withdrawals", {
    ...{ source: { account }, destination: { address }, value: "0.01" },
  });
  equal(made.status, 201, made.text);
  return made.body.id;
}

async function follow(
  desk: Desk,
  id: string,
  mine: () => Promise<unknown> = () => steady(desk),
): Promise<string> {
  for (let round = 0; round < 10; round++) {
    await desk.look();
    const { status, history } = await desk.read(id);
    if (status !== "PROCESSING" || history.at(-1).event === "waiting") return status;
    await mine();
  }
  throw new Error(`withdrawal ${id} does not end`);
}

/** Mines at a price that stays. */
async function steady({ anvil }: Desk): Promise<void> {
  await anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x3b9aca00");
  await anvil.mine();
}

async function setLossMax(desk: Desk, loss_max: string): Promise<void> {
  const body = { withdrawals: { ETH: { loss_max } } };
  const set = await desk.realm.operator("PATCH", `/v1/realms/${desk.realm.id}`, body);
  equal(set.status, 200, set.text);
  const { actor } = desk.bench;
  Object.assign(desk.bench, { actor: { ...actor, realm: { ...actor.realm, ...body } } });
}

async function compared(desk: Desk): Promise<void> {
  const head = parseInt(await desk.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(desk.realm, "update chain_cursors set height = $1, head = $1", [head]);
  await checkSolvency({ ...desk.bench, actor: { ...desk.bench.actor, at: Date.now() } });
}
