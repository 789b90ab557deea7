/** Costs that users can cause the house, and refunds of their charges without effect. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import {
  type FundedRamp,
  type FundedRampOptions,
  openFundedRamp,
  OUTSIDE,
} from "../support/evm_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { tampering } from "../support/tamper.ts";
import { NodeError } from "../support/nodes/faulty_node.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("costs that users cause on one ramp", { nodes: 1 });

const COIN = 10n ** 18n;
const CONTRACT = "0x00000000000000000000000000000000000b0b01";
/** While the gas price is 0, as in an estimate: a loop of 700 rounds. Else INVALID, which takes all gas. */
const TRAP = "0x3a601257620002bc5b600190038060085700" + "5bfe";
const SEND = "eth_sendRawTransaction";

test("withdrawals that are canceled once they are signed are few in a day: the next one goes on", async (funded) => {
  for (let one = 0; one < 5; one++) {
    const { id, canceled } = await cancelSigned(funded);
    deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"], canceled.text);
    equal((await funded.read(id)).status, "CANCELED");
  }
  const { id, canceled } = await cancelSigned(funded);
  deepEqual([canceled.status, canceled.body.code], [429, "rate.limited"]);
  ok(canceled.headers.has("retry-after"));
  equal(await mayDiscard(funded, id), false, "of a user whom the same one made");
  equal((await funded.finish(id)).status, "DONE");
  const fills = "select 1 from chain_orders where purpose = 'fill'";
  equal((await rowsOf(funded.realm, fills)).length, 5);
  equal(await heldBy(funded, OUTSIDE), COIN);
  const { body: { id: unsigned } } = await funded.withdraw("1");
  equal(
    (await cancel(funded, unsigned)).body.status,
    "CANCELED",
    "an unsigned payment costs nothing",
  );
  await rowsOf(funded.realm, "update chain_orders set updated_at = now() - interval '25 hours'");
  equal((await cancelSigned(funded)).canceled.status, 200);
  await agree(funded);
});

test("the database lets only so many signed withdrawals be canceled in a day", async (funded) => {
  for (let one = 0; one < 5; one++) await cancelSigned(funded);
  await funded.withdraw("1");
  let refused: string | null = null;
  await funded.advance(async (step) => {
    if (step !== "stored") return;
    refused ??= await refusedBy(
      funded,
      "update chain_orders set state = 'canceled' where state = 'signed' and purpose = 'withdrawal'",
    );
  });
  equal(refused, "chain_orders_discarded");
});

test(
  "a speed-up without effect comes back: an earlier attempt was mined",
  async (funded, [faulty]) => {
    const made = (await funded.withdraw("1", { fee: { speed: "slow" } })).body;
    await funded.advance();
    await dearer(funded);
    faulty.trick = ({ method }) => {
      if (method === SEND) throw new NodeError(-32000, "replacement transaction underpriced");
    };
    const sped = await speedUp(funded, made.id);
    equal(sped.status, 200, sped.text);
    ok(feeOf(sped.body) > feeOf(made));
    await funded.advance();
    await funded.anvil.mine();
    faulty.trick = () => undefined;
    const done = await funded.finish(made.id);
    equal(done.status, "DONE");
    deepEqual(
      await rowsOf(funded.realm, "select 1 as made from order_attempts where attempt = 2"),
      [
        { made: 1 },
      ],
    );
    equal(feeOf(done), feeOf(made));
    equal(toUnits(done.history.at(-1).returned, 18), feeOf(sped.body) - feeOf(made));
    const { account, ramp } = await funded.books();
    deepEqual([toUnits(account, 18), ramp], [9n * COIN - feeOf(made), "0"]);
    await agree(funded);
  },
);

test("a speed-up whose replacement is mined is kept", async (funded) => {
  const made = (await funded.withdraw("1", { fee: { speed: "slow" } })).body;
  await funded.advance();
  await dearer(funded);
  const sped = await speedUp(funded, made.id);
  equal(sped.status, 200, sped.text);
  await funded.advance();
  const done = await funded.finish(made.id);
  deepEqual([done.status, feeOf(done)], ["DONE", feeOf(sped.body)]);
  const { account, ramp } = await funded.books();
  deepEqual([toUnits(account, 18), ramp], [9n * COIN - feeOf(done), "0"]);
  await agree(funded);
});

test("the database has an order charged more only where it is sped up, once a block", async (funded) => {
  await funded.withdraw("1", { fee: { speed: "slow" } });
  await funded.advance();
  const raise = "charged = charged + 1, budget = budget + 3";
  equal(await refusedBy(funded, `update chain_orders set ${raise}`), "chain_orders_fixed");
  equal(await refusedBy(funded, `update chain_orders set ${raise}, sped_up_at = 7`), null);
  equal(
    await refusedBy(funded, `update chain_orders set ${raise}, sped_up_at = 7`),
    "chain_orders_fixed",
  );
  equal(await refusedBy(funded, "update chain_orders set sped_up_at = 6"), "chain_orders_fixed");
  equal(
    await refusedBy(funded, "update chain_orders set sped_up_at = null"),
    "chain_orders_fixed",
  );
  const less = "update chain_orders set charged = charged - 1, sped_up_at = 8";
  equal(await refusedBy(funded, less), "chain_orders_fixed");
});

const CHAINS: readonly FundedRampOptions[] = [
  { asset: "MATIC", chain: { id: "POLYGON", number: 137 } },
  { asset: "BSC", chain: { id: "BSC", number: 56 } },
  { asset: "CELO", chain: { id: "CELO", number: 42220 } },
];

for (const options of CHAINS) {
  Deno.test(`${options.asset}: a trap that burns all gas in the block costs its sender, and no more than the budget`, async () => {
    await using funded = await openFundedRamp(options);
    await funded.anvil.rpc("anvil_setCode", CONTRACT, TRAP);
    const made = await funded.withdraw("0.1", { destination: { address: CONTRACT } });
    equal(made.status, 201, made.text);
    const failed = await funded.finish(made.body.id);
    deepEqual([failed.status, failed.error.code], ["FAILED", "upstream.failed"]);
    const { account, ramp, fees } = await funded.books();
    deepEqual([ramp, fees], ["0", "0"]);
    const cost = 10n * COIN - toUnits(account, 18);
    ok(cost > feeOf(made.body) && cost <= 3n * feeOf(made.body), `${cost}`);
    await agree(funded);
  });
}

/** Withdraws, and cancels between signature and broadcast. */
async function cancelSigned(funded: FundedRamp): Promise<{ id: string; canceled: Answer }> {
  const made = await funded.withdraw("1");
  equal(made.status, 201, made.text);
  let canceled: Answer | null = null;
  await funded.advance(async (step) => {
    if (step === "stored") canceled ??= await cancel(funded, made.body.id);
  });
  for (let round = 0; round < 4; round++) {
    await funded.advance();
    await funded.anvil.mine();
  }
  await funded.refreshBalances();
  return { id: made.body.id, canceled: canceled! };
}

/** Whether one may be canceled that is a user's, where its maker's were those before. */
async function mayDiscard({ realm, ramp }: FundedRamp, id: string): Promise<boolean> {
  const [maker, made] = [await realm.user(), await realm.user()];
  await rowsOf(realm, "update users set owner = $1 where id = $2", [maker.id, made.id]);
  const owners = [
    `update withdrawals set owner = '${maker.id}' where status = 'CANCELED'`,
    `update withdrawals set owner = '${made.id}' where id = '${id}'`,
  ];
  return await tampering(realm, owners, async (tx) => {
    const [{ may }] = await tx<{ may: boolean }[]>`select may_discard(${ramp}, ${id}) as may`;
    return may;
  });
}

async function cancel(funded: FundedRamp, id: string): Promise<Answer> {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function speedUp(funded: FundedRamp, id: string): Promise<Answer> {
  const body = { speed: "fast" };
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

/** Doubles what workers last saw of prices. */
async function dearer(funded: FundedRamp): Promise<void> {
  await rowsOf(funded.realm, "update fee_quotes set base = base * 2, quoted_at = now()");
}

function feeOf(body: Answer["body"]): bigint {
  return toUnits(body.fee.value.toFixed(18), 18);
}

async function heldBy(funded: FundedRamp, address: string): Promise<bigint> {
  return BigInt(await funded.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

async function refusedBy(funded: FundedRamp, statement: string): Promise<string | null> {
  return await rowsOf(funded.realm, statement).then(() => null, (error) => error.constraint_name);
}

/** Checks that the ledger's liability equals the balance of the ramp's address. */
async function agree(funded: FundedRamp): Promise<void> {
  equal(await heldBy(funded, funded.address), -toUnits((await funded.books()).world, 18));
}
