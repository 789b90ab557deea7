/**
 * Strays: what came to an address of ours in an asset that the address is not for. Nothing is booked
 * and nothing swept; an operator finds them here and decides.
 * @module
 */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectStrays, type StrayRow } from "../../db/deposits/unmatched_deposits.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, explorerUrl } from "../assets.ts";
import { resolveChainAsset } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { DecimalText, fromUnits } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** What can be asked of the strays. */
export const StrayQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(1000),
  after: z.string().max(100).optional().meta({
    description: "The last one of the page before.",
    format: "uuid",
  }),
});
/** What can be asked of the strays. */
export type StrayQuery = z.infer<typeof StrayQuery>;

/** A stray as shown. */
export const StrayView = z.object({
  id: z.string(),
  account: z.string().meta({ description: "The ramp or deposit account whose address it is." }),
  address: z.string(),
  expected: z.string().meta({ description: "The asset that the address is for." }),
  chain: z.string(),
  testnet: z.boolean(),
  asset: z.string().nullable().meta({ description: "Null for a token that nobody here knows." }),
  contract: z.string().nullable().meta({ description: "Null for the chain's own coin." }),
  amount: DecimalText.nullable().meta({ description: "Null where the asset is not known." }),
  units: z.string().meta({ description: "Base units, as the chain's log or value says." }),
  hash: z.string(),
  index: z.number().int(),
  block: z.number().int(),
  sender: z.string().nullable(),
  explorer_url: z.string().nullable(),
  created_at: z.number().int(),
}).meta({ id: "Stray" });

/**
 * Lists strays, oldest first.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function listStrays(
  db: Db,
  actor: Actor,
  asked: StrayQuery,
): Promise<z.infer<typeof StrayView>[]> {
  assertRealmAdmin(actor);
  const { after, limit } = asked;
  if (after !== undefined && !isId(after)) {
    throw new DomainError("query.invalid", "after is not the id of a stray");
  }
  const rows = await selectStrays(db, { after: after ?? null, limit });
  const codes = [...new Set(rows.flatMap((row) => row.asset ?? []))];
  const decimals = new Map<string, number>();
  for (const code of codes) decimals.set(code, (await resolveChainAsset(db, code)).decimals);
  return rows.map((row) => viewStray(row, decimals));
}

function viewStray(
  row: StrayRow,
  decimals: ReadonlyMap<string, number>,
): z.infer<typeof StrayView> {
  const testnet = row.network !== "main";
  const scale = row.asset === null ? undefined : decimals.get(row.asset);
  return {
    id: row.id,
    account: row.account,
    address: row.address,
    expected: row.wanted,
    chain: row.chain,
    testnet,
    asset: row.asset,
    contract: row.contract,
    amount: scale === undefined ? null : fromUnits(BigInt(row.units), scale),
    units: row.units,
    hash: row.hash,
    index: row.index,
    block: row.block,
    sender: row.sender,
    explorer_url: explorerUrl(row.chain as ChainId, testnet, row.hash),
    created_at: row.created_at,
  };
}
