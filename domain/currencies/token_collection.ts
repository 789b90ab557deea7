/** Fungible tokens as a collection. @module */
import type { Tx } from "../../db/database.ts";
import { selectTokens, type TokenRow } from "../../db/currencies/tokens.ts";
import type { Actor } from "../actor.ts";
import {
  type Collection,
  ENTITY_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { viewToken } from "./token_views.ts";

/** The collection of fungible tokens. */
export const TOKEN_COLLECTION: Collection<TokenRow> = {
  name: "fungible/token",
  table: "fungible_tokens",
  deletable: true,
  counted: false,
  notFound: "token.not_found",
  fields: ["testnet", "error", "deleted"],
  columns: {
    ...ENTITY_COLUMNS,
    createdAt: { column: "created_at", type: "time", inId: true },
    updatedAt: { column: "updated_at", type: "time", nullable: true },
    deletedAt: { column: "deleted_at", type: "time", nullable: true },
    data: { column: "data", type: "json" },
    account: { column: "account", type: "id" },
    chain: textColumn("chain"),
    name: textColumn("name", true),
    symbol: textColumn("symbol"),
    supply: { column: "supply", type: "decimal" },
    decimalPlaces: { column: "decimals", type: "decimal" },
    virtualCurrency: { column: "currency", type: "id", nullable: true },
    contractAddress: textColumn("contract", true),
    status: textColumn("status"),
    transactionHash: textColumn("hash", true),
    external: { column: "external", type: "boolean" },
  },
  read: selectTokens,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewToken)),
};

/** Deletes or restores a token's entry; contract and currency stay. */
export async function removeToken(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  await rowFor(tx, actor, TOKEN_COLLECTION, id, act);
  return await setDeleted(tx, actor, TOKEN_COLLECTION, id, act === "delete");
}
