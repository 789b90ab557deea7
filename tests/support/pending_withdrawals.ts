/** Withdrawals that wait side by side on a coin chain, for tests of batches. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Checkpoint } from "../../workers/sending/order_work.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { COIN, type UtxoChain, type UtxoRamp } from "./utxo_fixture.ts";
import { type Answer, rowsOf } from "./realm.ts";

/** Withdrawals that wait side by side, and to whom they are paid. */
export interface Queue {
  readonly ids: readonly string[];
  readonly to: readonly string[];
}

/** The amount of the withdrawal with this number in a queue, in base units. */
export function sizeOf(at: number): bigint {
  return COIN / 10n + BigInt(at) * 1_000n;
}

/** Makes withdrawals from the ramp, each of another size and to somebody else. */
export async function queue(
  funded: UtxoRamp,
  { id }: UtxoChain,
  count: number,
  more: Record<string, unknown> = {},
): Promise<Queue> {
  const to = [];
  for (let at = 0; at < count; at++) to.push((await newParty(id)).address);
  const ids = [];
  await funded.quote();
  for (const [at, address] of to.entries()) {
    const value = `0.${`${sizeOf(at)}`.padStart(8, "0")}`;
    ids.push(await pay(funded, address, value, more));
  }
  return { ids, to };
}

/** Withdraws from the ramp. Gives the id. */
export async function pay(
  funded: UtxoRamp,
  to: string,
  value: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  return await funded.withdraw(to, value, { source: { account: funded.ramp }, ...more });
}

/** Each has what it should have, in one piece. */
export async function paidOnce(funded: UtxoRamp, { ids, to }: Queue): Promise<void> {
  for (const id of ids) equal((await funded.withdrawal(id)).status, "DONE");
  for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
}

/** In how many transactions they left. */
export async function batchesOf(funded: UtxoRamp, { ids }: Queue): Promise<number> {
  const rows = await Promise.all(ids.map((id) => funded.withdrawal(id)));
  return new Set(rows.map(({ chain }) => chain.hash)).size;
}

/** The shares of each batch add up to what the chain took for it. */
export async function feesDivided(funded: UtxoRamp): Promise<void> {
  const rows = await rowsOf<{ fee: string; shares: string; costs: string }>(
    funded.realm,
    `select p.fee::text as fee, sum(m.fee)::text as shares,
        trim_scale(sum(w.cost) * 100000000)::text as costs
      from chain_orders p join chain_orders m on m.batch_order_id = p.id join withdrawals w on w.order_id = m.id
      where p.state = 'done' group by p.id`,
  );
  ok(rows.length > 0);
  for (const { fee, shares, costs } of rows) deepEqual([shares, costs], [fee, fee]);
}

/** The states of the orders of withdrawals. */
export async function statesOf(funded: UtxoRamp, ids: readonly string[]): Promise<string[]> {
  const rows = await rowsOf<{ state: string }>(
    funded.realm,
    `select state from chain_orders where reference_id in ('${ids.join("','")}') order by id`,
  );
  return rows.map(({ state }) => state);
}

/** Ends a worker at a step, and notes whether it got there. */
export async function crashAt(
  funded: UtxoRamp,
  step: Checkpoint,
  reached: { done: boolean } = { done: false },
): Promise<{ done: boolean }> {
  try {
    await funded.advance((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
  return reached;
}

/** Asks for a withdrawal to be mined sooner. */
export async function speedUp(funded: UtxoRamp, id: string): Promise<Answer> {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

/** Asks for a withdrawal to be canceled. */
export async function cancel(funded: UtxoRamp, id: string): Promise<Answer> {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}
