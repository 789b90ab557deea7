/**
 * Sweeps that were sent, and for which another sweep of their account has left nothing: a transaction that moves nothing
 * takes their place, for which the ramp sends gas.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectEmptied } from "../../db/deposits/emptied_sweeps.ts";
import { lockSweep, selectSweepable, updateSweep } from "../../db/deposits/sweeps.ts";
import type { Actor } from "../actor.ts";
import type { ChainId } from "../assets.ts";
import type { Network } from "../chains/addresses.ts";
import { createOrderWithGas, type OrderRow } from "../sending/chain_orders.ts";
import { topUpCost } from "./sweeps.ts";

/** How often gas is sent for one cancellation: prices may have risen until it has arrived. */
export const TOP_UPS_MAX = 3;

/**
 * Sends gas to the address of such a sweep, unless it is on its way.
 *
 * @param gas.units base units
 * @param gas.contract the token that pays the fee; null is the chain's own coin
 * @throws {DomainError} ramp.gas_insufficient, chain.stale
 */
export async function topUpEmptied(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  gas: { units: bigint; contract: string | null },
): Promise<void> {
  if (order.reference_id === null || await lockSweep(tx, order.reference_id) === null) return;
  const emptied = await selectEmptied(tx, order);
  if (emptied === null || emptied.topping || emptied.top_ups >= TOP_UPS_MAX) return;
  const sweepable = (await selectSweepable(tx, emptied.account))!;
  const own = sweepable.token !== null;
  const budget = own ? await topUpCost(tx, sweepable) : null;
  const made = await createOrderWithGas(tx, actor, {
    place: { chain: order.chain as ChainId, network: order.network as Network },
    ramp: sweepable.ramp,
    purpose: "gas",
    reference_id: emptied.sweep,
    request: {
      kind: "pay",
      from: sweepable.to_address,
      contract: gas.contract,
      payments: [{ to: sweepable.from_address, amount: `${gas.units}` }],
    },
    speed: "medium",
    ...(budget === null
      ? {}
      : { cost: { charged: 0n, budget, contract: null }, gas: budget + gas.units }),
  });
  await updateSweep(tx, emptied.sweep, { gas_order: made });
}
