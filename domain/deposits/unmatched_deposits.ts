/**
 * Unmatched deposits: value in an asset that the receiving address does not accept. They are
 * neither credited nor swept; operators review them here.
 * @module
 */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import {
  selectUnmatchedDeposits,
  type UnmatchedDepositRow,
} from "../../db/deposits/unmatched_deposits.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, explorerUrl } from "../assets.ts";
import { type ChainAsset, resolveChainAssets } from "../chains/onchain_assets.ts";
import { invalidQuery } from "../collections/filter.ts";
import { isId } from "../ids.ts";
import { DecimalText, fromUnits } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** Parameters of a list of unmatched deposits. */
export const UnmatchedDepositList = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(1000),
  after: z.string().max(100).optional().meta({
    description: "The last one of the previous page.",
    format: "uuid",
  }),
});
/** Parameters of a list of unmatched deposits. */
export type UnmatchedDepositList = z.infer<typeof UnmatchedDepositList>;

/** An unmatched deposit as shown. */
export const UnmatchedDepositView = z.object({
  id: z.string(),
  account: z.string().meta({ description: "The ramp or deposit account whose address it is." }),
  address: z.string(),
  expected: z.string().meta({ description: "The asset that the address is for." }),
  chain: z.string(),
  testnet: z.boolean(),
  asset: z.string().nullable().meta({ description: "Null for an unknown token." }),
  contract: z.string().nullable().meta({ description: "Null for the chain's own coin." }),
  amount: DecimalText.nullable().meta({ description: "Null where the asset is not known." }),
  units: z.string().meta({ description: "Base units, as the chain's log or value says." }),
  hash: z.string(),
  index: z.number().int(),
  block: z.number().int(),
  sender: z.string().nullable(),
  explorer_url: z.string().nullable(),
  created_at: z.number().int(),
}).meta({ id: "UnmatchedDeposit" });

/**
 * Lists unmatched deposits, oldest first.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function listUnmatchedDeposits(
  db: Db,
  actor: Actor,
  input: UnmatchedDepositList,
): Promise<z.infer<typeof UnmatchedDepositView>[]> {
  assertRealmAdmin(actor);
  const { after, limit } = input;
  if (after !== undefined && !isId(after)) {
    throw invalidQuery("/after", "not the id of an unmatched deposit");
  }
  const rows = await selectUnmatchedDeposits(db, { after: after ?? null, limit });
  const assets = await resolveChainAssets(db, rows.flatMap((row) => row.asset ?? []));
  return rows.map((row) => viewUnmatchedDeposit(row, assets));
}

function viewUnmatchedDeposit(
  row: UnmatchedDepositRow,
  assets: ReadonlyMap<string, ChainAsset>,
): z.infer<typeof UnmatchedDepositView> {
  const testnet = row.network !== "main";
  const scale = row.asset === null ? undefined : assets.get(row.asset)?.decimals;
  return {
    id: row.id,
    account: row.account,
    address: row.address,
    expected: row.wanted,
    chain: row.chain,
    testnet,
    asset: row.asset,
    contract: row.contract,
    amount: scale === undefined ? null : fromUnits(BigInt(row.amount_base), scale),
    units: row.amount_base,
    hash: row.hash,
    index: row.index,
    block: row.block,
    sender: row.sender,
    explorer_url: explorerUrl(row.chain as ChainId, row.network, row.hash),
    created_at: row.created_at,
  };
}
