/** Views of fungible tokens, and the answers of deploy and register. @module */
import { z } from "zod";
import type { TokenRow } from "../../db/currencies/tokens.ts";
import { Failure } from "../entity.ts";
import { DecimalText, trim } from "../money.ts";

const Key = z.string().nullable();

/** Rights over a third party's token that its mint gives to its issuer. */
export const IssuerRights = z.object({
  mint: Key.meta({ description: "May make more of it." }),
  permanentDelegate: Key.meta({ description: "May move and destroy the tokens of any holder." }),
  pause: Key.meta({ description: "May stop all transfers." }),
  close: Key.meta({ description: "May end the mint once nothing of it is left." }),
  transferHook: Key.meta({ description: "The program that runs at each transfer." }),
  confidentialTransfers: z.boolean().meta({
    description: "Holders may move it in confidence: such transfers are not credited.",
  }),
}).meta({ id: "IssuerRights" });
/** Rights over a third party's token that its mint gives to its issuer. */
export type IssuerRights = z.infer<typeof IssuerRights>;

/** A token as shown. */
export const TokenView = z.object({
  id: z.string(),
  account: z.string(),
  chain: z.string(),
  name: z.string().nullable(),
  symbol: z.string().meta({ description: "With the suffix of its chain.", example: "GOLD_ETH" }),
  supply: DecimalText,
  decimalPlaces: z.number().int(),
  virtualCurrency: z.string().nullable(),
  contractAddress: z.string().nullable(),
  freezeAuthority: z.string().nullable().meta({
    description: "Who may freeze the tokens of holders, as a third party's mint told (Solana).",
  }),
  issuerRights: IssuerRights.nullable().meta({
    description: "What else its issuer may do, as a third party's mint told (Solana).",
  }),
  status: z.enum(["pending", "deployed", "registered", "failed"]),
  transactionHash: z.string(),
  external: z.boolean(),
  testnet: z.boolean(),
  owner: z.string(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
  createdAt: z.number().int(),
  updatedAt: z.number().int().nullable(),
  deleted: z.boolean().optional(),
  deletedAt: z.number().int().optional(),
}).meta({ id: "FungibleToken" });

/** The answer of a deployment. */
export const DeployedView = z.object({
  id: z.string(),
  symbol: z.string(),
  transaction_hash: z.string().meta({ description: "Empty until the worker has sent it." }),
  fee: DecimalText.meta({ description: "The most it costs, in the chain's coin." }),
}).meta({ id: "DeployedToken" });

/** The answer of a registration. */
export const RegisteredView = z.object({
  id: z.string(),
  virtual_currency: z.string().nullable(),
  contract_address: z.string().nullable(),
  status: z.enum(["pending", "deployed", "registered", "failed"]),
}).meta({ id: "RegisteredToken" });

/** Shows a token. */
export function viewToken(row: TokenRow): Record<string, unknown> {
  return {
    id: row.id,
    account: row.account,
    chain: row.chain,
    name: row.name,
    symbol: row.symbol,
    supply: trim(row.supply),
    decimalPlaces: row.decimals,
    virtualCurrency: row.currency,
    contractAddress: row.contract,
    freezeAuthority: row.freeze_authority,
    issuerRights: row.issuer_rights,
    status: row.status,
    transactionHash: row.hash ?? "",
    external: row.external,
    testnet: row.network !== "main",
    owner: row.owner,
    data: row.data,
    error: row.error,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.deleted_at === null ? {} : { deleted: true, deletedAt: row.deleted_at }),
  };
}

/** Answers a deployment. */
export function viewDeployed(row: TokenRow): Record<string, unknown> {
  const { id, symbol, hash, fee } = row;
  return { id, symbol, transaction_hash: hash ?? "", fee: trim(fee ?? "0") };
}

/** Answers a registration. */
export function viewRegistered(row: TokenRow): Record<string, unknown> {
  const { id, status } = row;
  return { id, virtual_currency: row.currency, contract_address: row.contract, status };
}
