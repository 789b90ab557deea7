/** Ramps of Litecoin with which tests of restored databases begin. @module */
import { newParty } from "../chains/bitcoin/fixture.ts";
import { pay } from "./pending_withdrawals.ts";
import { COIN, LITECOIN, openUtxoRamp, type UtxoRamp } from "./utxo_fixture.ts";

/** A ramp and a withdrawal from it of 1 LTC, which no worker has seen yet. */
export interface PayingRamp extends UtxoRamp {
  /** The withdrawal. */
  readonly id: string;
  /** To whom it is paid. */
  readonly to: string;
}

/** Opens a ramp of two coins, of 5 and of 3 LTC. */
export async function openTwoCoins(): Promise<UtxoRamp> {
  return await withTwoCoins(await openUtxoRamp(LITECOIN));
}

/** Gives a ramp two coins, of 5 and of 3 LTC. */
export async function withTwoCoins(ramp: UtxoRamp): Promise<UtxoRamp> {
  await ramp.fund(5n * COIN, 3n * COIN);
  return ramp;
}

/** Opens a ramp of one coin of 5 LTC. */
export async function openOneCoin(): Promise<UtxoRamp> {
  return await withOneCoin(await openUtxoRamp(LITECOIN));
}

/** Gives a ramp one coin of 5 LTC. */
export async function withOneCoin(ramp: UtxoRamp): Promise<UtxoRamp> {
  await ramp.fund(5n * COIN);
  return ramp;
}

/** Opens a ramp of one coin and withdraws from it. */
export async function openPayingOne(): Promise<PayingRamp> {
  return await paying(await openOneCoin());
}

/** Opens a ramp of two coins and withdraws from it. */
export async function openPaying(more: Record<string, unknown> = {}): Promise<PayingRamp> {
  return await paying(await openTwoCoins(), more);
}

/** Withdraws from a ramp. */
export async function paying(
  funded: UtxoRamp,
  more: Record<string, unknown> = {},
): Promise<PayingRamp> {
  const { address: to } = await newParty("LITECOIN");
  return { ...funded, to, id: await pay(funded, to, "1", more) };
}
