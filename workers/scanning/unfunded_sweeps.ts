/**
 * Sweeps that the chain has lost together with the deposit that they carried: their bytes can be mined only where it
 * comes back.
 * @module
 */
import type { DisplacedRow } from "../../db/recovery/displaced_orders.ts";
import { ChainError } from "../chains/chain.ts";
import type { Contract } from "../chains/observations.ts";
import type { Asked, AttemptSearch } from "./attempt_questions.ts";

/** How long a deposit may take to come back to the chain. */
const AWAITED_MS = 86_400_000;

/**
 * Whether a sweep was lost a day ago, and its address does not hold what its bytes move, as the nodes agree on it: it is
 * sent again no more, as what comes to the address waits behind its nonce.
 */
export async function isUnfunded(
  { context, chain }: AttemptSearch,
  { created_at }: Pick<DisplacedRow, "created_at">,
  { order, query: { attempts: [signed] } }: Asked,
): Promise<boolean> {
  if (order.purpose !== "sweep" || context.actor.at < created_at + AWAITED_MS) {
    return false;
  }
  const plan = await chain.planOf(signed, { all: true });
  if (plan === null || plan.order.kind !== "pay") return false;
  const { height } = await chain.head();
  const moved = plan.amounts.reduce((sum, amount) => sum + amount, 0n);
  const lacks = async (contract: Contract, units: bigint) => {
    try {
      return await chain.balance({ address: order.sender, contract }, height) < units;
    } catch (error) {
      if (error instanceof ChainError) return false; // neither a token nor a node alone keeps it from being sent again
      throw error;
    }
  };
  const { contract } = plan.order;
  if (contract === plan.feeContract) {
    return await lacks(contract, moved + plan.fee);
  }
  return await lacks(contract, moved) ||
    await lacks(plan.feeContract, plan.fee);
}
