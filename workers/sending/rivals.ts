/**
 * Plans beside bytes that nobody here sends any more. Where a withdrawal is called paid, its own signed
 * transaction is never sent, and what spends its change can never be mined, unless somebody else sends both. A
 * payment that is made anew therefore spends a coin of theirs: of the two, one at most is mined.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { type Rival, selectRivals } from "../../db/sending/unsent_bytes.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import type { Coin, Inputs, Plan } from "../chains/outgoing.ts";
import type { OrderWork } from "./order_work.ts";

/** Lists the rivals of some orders; none on chains without coins. */
export async function rivalsOf(
  { chain, context, place }: Pick<OrderWork, "chain" | "context" | "place">,
  db: Db,
  { orders, head }: { orders: readonly Pick<OrderRow, "id">[]; head: number },
): Promise<Rival[]> {
  if (!chain.traits.coins || orders.length === 0) return [];
  const settled = head - context.chains.depth(place) + 1;
  return await selectRivals(db, orders.map(({ id }) => id), settled);
}

/**
 * Plans with coins that make it impossible for rivals to be mined beside it.
 *
 * @throws {ChainError} `held` while another transaction spends those coins, and is not deep enough
 */
export function planBeside(
  rivals: readonly Rival[],
  inputs: Inputs,
  plan: (inputs: Inputs) => Plan,
): Plan {
  if (rivals.length === 0) return plan(inputs);
  const within = (test: (input: string) => boolean) =>
    (inputs.coins ?? []).filter(({ hash, index }: Coin) => test(`${hash}:${index}`));
  const shared = within((input) => rivals.every((one) => one.inputs.includes(input)));
  const any = within((input) => rivals.some((one) => one.inputs.includes(input)));
  const coins = shared.length > 0 ? shared : any;
  if (coins.length === 0) throw waits(rivals);
  const made = planWith(coins, inputs, plan);
  if (rivals.some((one) => !one.inputs.some((input) => made.inputs.includes(input)))) {
    throw waits(rivals);
  }
  return made;
}

/** Plans with some coins, and with the others too where those do not suffice. */
function planWith(coins: readonly Coin[], inputs: Inputs, plan: (inputs: Inputs) => Plan): Plan {
  try {
    return plan({ ...inputs, coins });
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault !== "insufficient") throw error;
    return plan(inputs);
  }
}

function waits(rivals: readonly Rival[]): ChainError {
  const why =
    `${rivals.map(({ hash }) => hash).join(", ")}, which was never sent from here, could be` +
    " mined beside it: it waits until another transaction has spent a coin of that";
  return new ChainError("held", why);
}
