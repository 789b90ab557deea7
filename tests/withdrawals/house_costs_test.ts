/** What users can make the house pay, and what they get back of what they paid for nothing. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { type Desk, type DeskOptions, openDesk, OUTSIDE } from "../support/evm_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { type Rogue, RogueError, startRogue } from "../support/nodes/misbehaving_node.ts";

const COIN = 10n ** 18n;
const CONTRACT = "0x00000000000000000000000000000000000b0b01";
/** While the gas price is 0, as in an estimate: a loop of 700 rounds. Else INVALID, which takes all gas. */
const TRAP = "0x3a601257620002bc5b600190038060085700" + "5bfe";
const SEND = "eth_sendRawTransaction";

Deno.test("withdrawals that are canceled once they are signed are few in a day: the next one goes on", async () => {
  await using desk = await openDesk();
  for (let one = 0; one < 5; one++) {
    const { id, canceled } = await cancelSigned(desk);
    deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"], canceled.text);
    equal((await desk.read(id)).status, "CANCELED");
  }
  const { id, canceled } = await cancelSigned(desk);
  deepEqual([canceled.status, canceled.body.code], [429, "rate.limited"]);
  ok(canceled.headers.has("retry-after"));
  equal((await desk.finish(id)).status, "DONE");
  const fills = "select 1 from orders where purpose = 'fill'";
  equal((await rowsOf(desk.realm, fills)).length, 5);
  equal(await heldBy(desk, OUTSIDE), COIN);
  const { body: { id: unsigned } } = await desk.withdraw("1");
  equal((await cancel(desk, unsigned)).body.status, "CANCELED", "what is not signed costs nobody");
  await rowsOf(desk.realm, "update orders set updated_at = now() - interval '25 hours'");
  equal((await cancelSigned(desk)).canceled.status, 200);
  await agree(desk);
});

Deno.test("the database lets only so many signed withdrawals be canceled in a day", async () => {
  await using desk = await openDesk();
  for (let one = 0; one < 5; one++) await cancelSigned(desk);
  await desk.withdraw("1");
  let refused: string | null = null;
  await desk.look(async (step) => {
    if (step !== "stored") return;
    refused ??= await refusedBy(
      desk,
      "update orders set state = 'canceled' where state = 'signed' and purpose = 'withdrawal'",
    );
  });
  equal(refused, "orders_discarded");
});

Deno.test("a speed-up that made nothing of it comes back: what was made before it was mined", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const made = (await desk.withdraw("1", { fee: { speed: "slow" } })).body;
  await desk.look();
  await dearer(desk);
  rogue.trick = ({ method }) => {
    if (method === SEND) throw new RogueError(-32000, "replacement transaction underpriced");
  };
  const sped = await speedUp(desk, made.id);
  equal(sped.status, 200, sped.text);
  ok(feeOf(sped.body) > feeOf(made));
  await desk.look();
  await desk.anvil.mine();
  rogue.trick = () => undefined;
  const done = await desk.finish(made.id);
  equal(done.status, "DONE");
  deepEqual(await rowsOf(desk.realm, "select 1 as made from order_candidates where attempt = 2"), [
    { made: 1 },
  ]);
  equal(feeOf(done), feeOf(made));
  equal(toUnits(done.history.at(-1).returned, 18), feeOf(sped.body) - feeOf(made));
  const { account, ramp } = await desk.books();
  deepEqual([toUnits(account, 18), ramp], [9n * COIN - feeOf(made), "0"]);
  await agree(desk);
});

Deno.test("a speed-up whose replacement is mined is kept", async () => {
  await using desk = await openDesk();
  const made = (await desk.withdraw("1", { fee: { speed: "slow" } })).body;
  await desk.look();
  await dearer(desk);
  const sped = await speedUp(desk, made.id);
  equal(sped.status, 200, sped.text);
  await desk.look();
  const done = await desk.finish(made.id);
  deepEqual([done.status, feeOf(done)], ["DONE", feeOf(sped.body)]);
  const { account, ramp } = await desk.books();
  deepEqual([toUnits(account, 18), ramp], [9n * COIN - feeOf(done), "0"]);
  await agree(desk);
});

Deno.test("the database has an order charged more only where it is hastened, once a block", async () => {
  await using desk = await openDesk();
  await desk.withdraw("1", { fee: { speed: "slow" } });
  await desk.look();
  const raise = "charged = charged + 1, budget = budget + 3";
  equal(await refusedBy(desk, `update orders set ${raise}`), "orders_fixed");
  equal(await refusedBy(desk, `update orders set ${raise}, hastened_at = 7`), null);
  equal(await refusedBy(desk, `update orders set ${raise}, hastened_at = 7`), "orders_fixed");
  equal(await refusedBy(desk, "update orders set hastened_at = 6"), "orders_fixed");
  equal(await refusedBy(desk, "update orders set hastened_at = null"), "orders_fixed");
  const less = "update orders set charged = charged - 1, hastened_at = 8";
  equal(await refusedBy(desk, less), "orders_fixed");
});

const CHAINS: readonly DeskOptions[] = [
  { asset: "MATIC", chain: { id: "POLYGON", number: 137 } },
  { asset: "BSC", chain: { id: "BSC", number: 56 } },
  { asset: "CELO", chain: { id: "CELO", number: 42220 } },
];

for (const options of CHAINS) {
  Deno.test(`${options.asset}: a trap that burns all gas in the block costs its sender, and no more than the budget`, async () => {
    await using desk = await openDesk(options);
    await desk.anvil.rpc("anvil_setCode", CONTRACT, TRAP);
    const made = await desk.withdraw("0.1", { destination: { address: CONTRACT } });
    equal(made.status, 201, made.text);
    const failed = await desk.finish(made.body.id);
    deepEqual([failed.status, failed.error.code], ["FAILED", "upstream.failed"]);
    const { account, ramp, fees } = await desk.books();
    deepEqual([ramp, fees], ["0", "0"]);
    const cost = 10n * COIN - toUnits(account, 18);
    ok(cost > feeOf(made.body) && cost <= 3n * feeOf(made.body), `${cost}`);
    await agree(desk);
  });
}

/** Withdraws, and cancels between signature and broadcast. */
async function cancelSigned(desk: Desk): Promise<{ id: string; canceled: Answer }> {
  const made = await desk.withdraw("1");
  equal(made.status, 201, made.text);
  let canceled: Answer | null = null;
  await desk.look(async (step) => {
    if (step === "stored") canceled ??= await cancel(desk, made.body.id);
  });
  for (let round = 0; round < 4; round++) {
    await desk.look();
    await desk.anvil.mine();
  }
  await desk.sight();
  return { id: made.body.id, canceled: canceled! };
}

async function cancel(desk: Desk, id: string): Promise<Answer> {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function speedUp(desk: Desk, id: string): Promise<Answer> {
  const body = { speed: "fast" };
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

/** Doubles what workers last saw of prices. */
async function dearer(desk: Desk): Promise<void> {
  await rowsOf(desk.realm, "update fee_quotes set base = base * 2, quoted_at = now()");
}

function feeOf(body: Answer["body"]): bigint {
  return toUnits(body.fee.value.toFixed(18), 18);
}

async function heldBy(desk: Desk, address: string): Promise<bigint> {
  return BigInt(await desk.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

async function refusedBy(desk: Desk, statement: string): Promise<string | null> {
  return await rowsOf(desk.realm, statement).then(() => null, (error) => error.constraint_name);
}

/** What the ledger owes is what the ramp's address holds. */
async function agree(desk: Desk): Promise<void> {
  equal(await heldBy(desk, desk.address), -toUnits((await desk.books()).world, 18));
}

async function rogueDesk(): Promise<{ desk: Desk; rogue: Rogue }> {
  const made: Rogue[] = [];
  const front = (url: string) => {
    made.push(startRogue(url));
    return made[0].url;
  };
  return { desk: await openDesk({ front }), rogue: made[0] };
}
