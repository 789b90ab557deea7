/** Scenarios of a funded ramp whose nonces are blocked, for tests of the remedies. @module */
import { deepEqual, equal } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import {
  type FundedRamp,
  openFundedRamp,
  OUTSIDE,
  workerContextOf,
} from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";

export const COIN = 10n ** 18n;
/** A destination's code, asked of one node only. */
export const TRAP = "0x00000000000000000000000000000000000b0b06";

/** A funded ramp behind a node that may lie, alone or beside an honest one. */
export async function openFaultyRamp(
  { beside = false, env = {} }: { beside?: boolean; env?: Record<string, string> } = {},
): Promise<{ funded: FundedRamp; faulty: FaultyNode }> {
  const made: FaultyNode[] = [];
  const front = (url: string) => {
    made.push(startFaultyNode(url));
    return beside ? `${made[0].url},${url}` : made[0].url;
  };
  return { funded: await openFundedRamp({ front, env }), faulty: made[0] };
}

/** Has a slow withdrawal overtaken by the price, with another one behind it for a long time. */
export async function overtaken(
  funded: FundedRamp,
  { to, between = () => {}, asSent = 10n, times = 25n, isBound = false }: {
    to: string;
    between?: () => unknown;
    /** The price when it is sent, and later. */
    asSent?: bigint;
    times?: bigint;
    /** Whether the slow one's user pays no more than its fee at the time. */
    isBound?: boolean;
  },
): Promise<[string, string]> {
  await raisePrice(funded, 10n);
  const { body: fee } = await funded.realm.admin.send(
    "GET",
    `/v1/withdrawals/estimate?account=${funded.account}&address=${to}&amount=1&speed=slow`,
  );
  const slow = await funded.withdraw("1", {
    ...{ destination: { address: to }, fee: { speed: "slow" } },
    ...(isBound ? { max_fee: fee } : {}),
  });
  if (asSent !== 10n) await raisePrice(funded, asSent);
  await funded.advance();
  await raisePrice(funded, times);
  const fast = await funded.withdraw("1", { fee: { speed: "fast" } });
  await funded.advance();
  await between();
  await age(funded, 20);
  return [slow.body.id, fast.body.id];
}

/** Has all that is open been made so many minutes ago. */
export async function age(funded: FundedRamp, minutes: number): Promise<void> {
  const long = `created_at = now() - interval '${minutes} minutes'`;
  await rowsOf(funded.realm, `update chain_orders set ${long}`);
  await rowsOf(funded.realm, `update order_attempts set ${long}`);
}

export async function rounds(funded: FundedRamp, times: bigint): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await funded.advance();
    await raisePrice(funded, times);
  }
}

/** Demands that the first was canceled and the other paid. */
export async function canceledFor(funded: FundedRamp, slow: string, fast: string): Promise<void> {
  deepEqual([(await funded.read(slow)).status, (await funded.read(fast)).status], [
    "FAILED",
    "DONE",
  ]);
  deepEqual([await heldBy(funded, TRAP), await heldBy(funded, OUTSIDE)], [0n, COIN]);
}

const LITTLE = 10n ** 8n;

/** Mines a block whose gas costs so many times a little, and has it quoted. */
async function raisePrice(funded: FundedRamp, times: bigint): Promise<void> {
  await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(LITTLE * times).toString(16)}`);
  await funded.anvil.mine();
  // Prices are shared for a moment by whom the same context serves.
  const context = await workerContextOf(funded.realm);
  await refreshFees(context);
  context.chains.close();
}

/** Has every open order planned, and no further. */
export async function planAll(funded: FundedRamp): Promise<void> {
  const orders = await rowsOf<{ order: string; version: number }>(
    funded.realm,
    "select id as order, schedule_version as version from chain_orders where state = 'new' order by id",
  );
  for (const seen of orders) {
    await advanceOrder(funded.context, seen, (step) => {
      if (step === "planned") throw new Error("far enough");
    }).catch((error) => equal(error.message, "far enough"));
  }
}

export async function fillsOf(funded: FundedRamp): Promise<number[]> {
  const rows = await rowsOf<{ nonce: number }>(
    funded.realm,
    "select nonce from chain_orders where purpose = 'fill' order by nonce",
  );
  return rows.map(({ nonce }) => nonce);
}

export async function madeFor(funded: FundedRamp, withdrawal: string): Promise<unknown[]> {
  return await rowsOf(
    funded.realm,
    `select c.attempt from order_attempts c join chain_orders o on o.id = c.order_id
      where o.reference_id = $1`,
    [withdrawal],
  );
}

/** The fee charged to a withdrawal's user. */
export function chargeOf(row: { fee: { value: number } }): string {
  return row.fee.value.toFixed(18);
}

export async function baseFee(funded: FundedRamp): Promise<bigint> {
  const block = await funded.anvil.rpc<{ baseFeePerGas: string }>(
    "eth_getBlockByNumber",
    "latest",
    false,
  );
  return BigInt(block.baseFeePerGas);
}

export async function heldBy(funded: FundedRamp, address: string): Promise<bigint> {
  return BigInt(await funded.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

/** Checks that the ledger's liability equals the balance of the ramp's address. */
export async function agree(funded: FundedRamp): Promise<void> {
  equal(await heldBy(funded, funded.address), -toUnits((await funded.books()).world, 18));
}
