/** Health of the networks of an installation, as workers last measured them in all realms. @module */
import { type MeasuredNetwork, selectMeasuredNetworks } from "../../db/realms/measurements.ts";
import type { Pool } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { CHAINS } from "../assets.ts";
import type { ChainSettings } from "../installation_settings.ts";
import { isConfigured, networkOf } from "../chains/networks.ts";

/** Health of one network. */
export interface NetworkHealth extends Pick<MeasuredNetwork, "height" | "scanned" | "lag"> {
  /** Null where no realm uses the network, so that no worker reads it. */
  healthy: boolean | null;
}

/** A network that was not measured for so long, or of which nobody could read that, is unhealthy: nobody knows of it. */
export const STALE_S = 600;
const UNUSED: NetworkHealth = { height: null, scanned: null, lag: null, healthy: null };

/** Reads the health of each configured network, by chain and network. */
export async function checkNetworks(
  platform: Pool,
  settings: ChainSettings,
): Promise<Record<string, Record<string, NetworkHealth>>> {
  const measured = await reading(platform, selectMeasuredNetworks);
  const networks: Record<string, Record<string, NetworkHealth>> = {};
  for (const { id: chain } of CHAINS) {
    for (const testnet of [false, true]) {
      if (!isConfigured(settings, chain, testnet)) continue;
      const network = networkOf(settings, chain, testnet);
      const found = measured.find((one) => one.chain === chain && one.network === network);
      (networks[chain] ??= {})[network] = found === undefined ? UNUSED : healthOf(found);
    }
  }
  return networks;
}

function healthOf({ height, scanned, lag, healthy, age }: MeasuredNetwork): NetworkHealth {
  return { height, scanned, lag, healthy: age > STALE_S ? false : healthy };
}
