/** Views of assets and chains: the registry, and the scanning state of each chain. @module */
import { z } from "zod";
import {
  type CursorRow,
  type NetworkKey,
  selectCursors,
  selectUnreached,
} from "../../db/chains/cursors.ts";
import type { Db } from "../../db/database.ts";
import { countGains } from "../../db/accounts/onchain_balances.ts";
import { selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import { allAssets, CHAINS } from "../assets.ts";
import type { ChainSettings } from "../installation_settings.ts";
import { depthOf, isConfigured, networkOf, witnessesOf } from "./networks.ts";

/** An asset as shown. */
export const AssetView = z.object({
  code: z.string(),
  class: z.string(),
  chain: z.string().meta({ description: "Identifier of the chain.", example: "ETHEREUM" }),
  blockchain: z.string(),
  gas: z.string().nullable().meta({ description: "Symbol of the coin that pays the fees." }),
  gas_asset: z.string().nullable(),
  decimals: z.number().int(),
  contract: z.string().nullable(),
  testnet: z.boolean(),
  state: z.enum(["active", "deposit-only", "withdraw-only", "suspended"]),
  reason: z.string().nullable(),
  configured: z.boolean().meta({ description: "Whether its main network has a node." }),
  configured_testnet: z.boolean(),
}).meta({ id: "Asset" });

/** A chain as shown. */
export const ChainView = z.object({
  chain: z.string(),
  blockchain: z.string(),
  network: z.string(),
  testnet: z.boolean(),
  confirmations: z.number().int(),
  nodes: z.number().int().meta({ description: "Nodes that are configured." }),
  quorum: z.number().int().meta({
    description: "Nodes that must agree before a deposit counts or a withdrawal is given back.",
  }),
  height: z.number().int().nullable().meta({ description: "The newest block seen." }),
  finalized: z.number().int().nullable().meta({
    description: "The newest block that as many nodes as the quorum call final. Null where fewer " +
      "tell one, and on test networks and coin chains: there the depth alone counts.",
  }),
  scanned: z.number().int().nullable().meta({ description: "The last block scanned." }),
  lag: z.number().int().nullable().meta({ description: "Blocks seen and not yet scanned." }),
  scanned_at: z.number().int().nullable(),
  healthy: z.boolean().nullable().meta({
    description:
      "Null where the realm has no ramp and no linked address there yet, so that no worker reads it.",
  }),
  error: z.string().nullable().meta({
    description:
      "Why the chain is not followed, or a matter for an operator: nodes that contradict each " +
      "other, deposits that too few of them confirm.",
  }),
  quarantined: z.number().int().meta({
    description: "Ramps of the realm that an operator must reconcile before anything is signed.",
  }),
  unexplained: z.number().int().meta({
    description: "Balances of the realm's addresses that rose without a transfer that explains it.",
  }),
}).meta({ id: "Chain" });

/** Lists every asset. */
export function listAssets(settings: ChainSettings): z.infer<typeof AssetView>[] {
  return allAssets().map((asset) => ({
    code: asset.code,
    class: asset.class,
    chain: asset.chain,
    blockchain: asset.blockchain,
    gas: asset.gas,
    gas_asset: asset.gasAsset,
    decimals: asset.decimals,
    contract: asset.contract,
    testnet: asset.testnet,
    state: asset.state,
    reason: asset.reason,
    configured: isConfigured(settings, asset.chain, false),
    configured_testnet: asset.testnet && isConfigured(settings, asset.chain, true),
  }));
}

/** Lists the configured chains with their scanning state in this realm. */
export async function listChains(
  db: Db,
  settings: ChainSettings,
): Promise<z.infer<typeof ChainView>[]> {
  const cursors = await selectCursors(db);
  const gains = await countGains(db);
  const quarantines = await selectQuarantinedPlaces(db);
  const places = CHAINS.flatMap((chain) => [false, true].map((testnet) => ({ chain, testnet })));
  const shown = places.filter(({ chain, testnet }) => isConfigured(settings, chain.id, testnet))
    .map(({ chain, testnet }) => {
      const network = networkOf(settings, chain.id, testnet);
      const isHere = (one: NetworkKey) => one.chain === chain.id && one.network === network;
      return { chain, testnet, network, isHere, cursor: cursors.find(isHere) };
    });
  const unread = shown.filter(({ cursor }) => cursor === undefined)
    .map(({ chain, network }) => ({ chain: chain.id, network }));
  const unreached = unread.length === 0 ? [] : await selectUnreached(db, unread);
  return shown.map(({ chain, testnet, network, isHere, cursor }) => {
    return {
      chain: chain.id,
      blockchain: chain.name,
      network,
      testnet,
      confirmations: depthOf(settings, chain.id, testnet),
      ...witnessesOf(settings, chain.id, testnet),
      ...told(
        progressOf(cursor, unreached.some(isHere)),
        quarantines.find(isHere),
      ),
      unexplained: gains.find(isHere)?.count ?? 0,
    };
  });
}

/** Picks the error to show. A quarantine comes first, because nothing is sent meanwhile. */
function told(
  progress: ReturnType<typeof progressOf>,
  quarantine: { ramps: number; detail: string } | undefined,
) {
  if (quarantine === undefined) return { ...progress, quarantined: 0 };
  const error = `chain.quarantined: ${quarantine.detail}`;
  return { ...progress, healthy: false, error, quarantined: quarantine.ramps };
}

/** Blocks seen and not yet scanned. */
export function lagOf(head: number, scanned: number): number {
  return Math.max(0, head - scanned);
}

/** Shows how far a network was read; that none was ever reached matters only where one is needed. */
function progressOf(cursor: CursorRow | undefined, isNeeded: boolean) {
  if (cursor === undefined) {
    return {
      height: null,
      finalized: null,
      scanned: null,
      lag: null,
      scanned_at: null,
      healthy: isNeeded ? false : null,
      error: isNeeded ? "no node has been reached yet" : null,
    };
  }
  const halted = cursor.halted === null ? null : String(cursor.halted.detail);
  return {
    height: cursor.head,
    finalized: cursor.finalized,
    scanned: cursor.height,
    lag: lagOf(cursor.head, cursor.height),
    scanned_at: cursor.scanned_at,
    healthy: cursor.error === null && cursor.warning === null && halted === null,
    error: halted ?? cursor.error ?? cursor.warning,
  };
}
