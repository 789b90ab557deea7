/**
 * A realm's settings of withdrawals and sweeps, by the code of the asset: values for assets without
 * a rate, the limit of a ramp's network fees in a day, and the limit of the house's losses.
 * @module
 */
import { z } from "zod";
import { findAsset } from "./assets.ts";
import { Amount, AmountOrZero, scaleOf } from "./money.ts";

/** The settings of an asset; amounts in whole units of it. */
const AssetSettings = z.strictObject({
  least: Amount.optional().meta({
    description: "The least that may be withdrawn while the fee cannot be converted.",
  }),
  fee: Amount.optional().meta({
    description: "The fee that is charged while it cannot be converted.",
  }),
  sweep_min: Amount.optional().meta({
    description: "The least that gas is sent ahead for to a deposit address, while its worth is " +
      "not known.",
  }),
  daily_cost: Amount.optional().meta({
    description:
      "Of the coin that pays fees: the most that the network may cost a ramp in a day (UTC).",
  }),
  loss_max: AmountOrZero.optional().meta({
    description:
      "On the main network: the most that the house may lose in fees before withdrawals " +
      "stop. Unless set, a hundredth of the liabilities, or the cost of a hundred payments, whichever " +
      "is more.",
  }),
  testnet_loss_max: AmountOrZero.optional().meta({
    description: "The same, on the test network.",
  }),
});

/** The suffixes of symbols of tokens that a realm deploys. */
const OWN_TOKEN = /^[A-Z0-9]{1,30}_(ETH|MATIC|CELO|BSC|TRON|SOL)$/;
const ASSETS_MAX = 500;

/** A realm's settings of withdrawals, by the code of the asset. */
export const WithdrawalSettings = z.record(z.string().max(40), AssetSettings)
  .superRefine((settings, context) => {
    for (const [code, setting] of Object.entries(settings)) {
      const asset = findAsset(code);
      if (asset === null && !OWN_TOKEN.test(code)) {
        context.addIssue({ code: "custom", path: [code], message: "there is no such asset" });
      }
      for (const [name, amount] of Object.entries(setting)) {
        if (asset === null || amount === undefined || scaleOf(amount) <= asset.decimals) continue;
        const message = `at most ${asset.decimals} digits after the point are expected`;
        context.addIssue({ code: "custom", path: [code, name], message });
      }
    }
  })
  .refine((settings) => Object.keys(settings).length <= ASSETS_MAX, "too many assets")
  .meta({ id: "WithdrawalSettings" });
/** A realm's settings of withdrawals, by the code of the asset. */
export type WithdrawalSettings = z.infer<typeof WithdrawalSettings>;

/** Reads the settings of withdrawals of a realm. */
export function withdrawalSettings(settings: Record<string, unknown>): WithdrawalSettings {
  return (settings.withdrawals ?? {}) as WithdrawalSettings;
}

/**
 * The limit of the house's loss in an asset on one of its networks; null if the realm has not set
 * it.
 */
export function lossMaxOf(
  settings: WithdrawalSettings | null | undefined,
  { asset, testnet }: { asset: string; testnet: boolean },
): string | null {
  const set = settings?.[asset];
  return (testnet ? set?.testnet_loss_max : set?.loss_max) ?? null;
}
