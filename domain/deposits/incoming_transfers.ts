/**
 * Classifies incoming transfers at watched addresses: a deposit of the address's asset, a token of
 * the realm's own that returns to its ramp, a transfer between own addresses, or an unmatched
 * deposit, whose asset the address does not accept. Unmatched deposits are listed for operators and
 * never booked.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import {
  type SeenDeposit,
  selectOwnTransactions,
  selectTargets,
  type TargetRow,
} from "../../db/deposits/deposits.ts";
import { type KeptToken, selectKeptTokens } from "../../db/currencies/tokens.ts";
import type { SeenUnmatchedDeposit } from "../../db/deposits/unmatched_deposits.ts";
import { type ChainId, findAsset, nativeAsset, tokenByContract } from "../assets.ts";
import { newIds } from "../ids.ts";
import { fromUnits } from "../money.ts";
import type { SeenTransfer } from "../chains/observed_transfers.ts";

/** Classified transfers. */
export interface ClassifiedTransfers {
  readonly deposits: readonly SeenDeposit[];
  readonly unmatched: readonly SeenUnmatchedDeposit[];
  /** The time in their ids. */
  readonly at: number;
}

/** The account and asset that a deposit is credited to. */
interface Recipient {
  account: string;
  owner: string | null;
  asset: string;
  decimals: number;
  data: Record<string, unknown>;
}

/**
 * The index of coins that calls inside a transaction brought; there is one sum for each address.
 */
const INSIDE = -2;

/** Purposes of own orders whose transfers are no deposits. */
export const INWARD: ReadonlySet<string> = new Set(["sweep", "gas", "fill", "consolidation"]);

/**
 * Classifies transfers. Those of own orders, and those before an address or token counts, are
 * neither deposits nor unmatched.
 */
export async function classifyTransfers(
  tx: Tx,
  place: NetworkKey,
  input: { transfers: readonly SeenTransfer[]; at: number },
): Promise<ClassifiedTransfers> {
  const { transfers } = input;
  const targets = targetsOf(await selectTargets(tx, place, transfers.map((one) => one.to)));
  const own = new Map(
    (await selectOwnTransactions(tx, place, transfers.map((one) => one.hash)))
      .map((sent) => [sent.hash, sent]),
  );
  const tokens = transfers.some((one) => one.contract !== null);
  const kept = new Map(
    (tokens ? await selectKeptTokens(tx, place) : []).map((token) => [token.contract, token]),
  );
  const { ids, at } = newIds(input.at, transfers.length);
  const deposits: SeenDeposit[] = [];
  const unmatched: SeenUnmatchedDeposit[] = [];
  for (const [number, transfer] of transfers.entries()) {
    const target = targets.get(transfer.to);
    const sent = own.get(transfer.hash);
    if (target === undefined) continue;
    if (sent !== undefined && (INWARD.has(sent.purpose) || sent.sender === transfer.to)) continue;
    const token = kept.get(transfer.contract ?? "");
    const recipient = recipientOf(transfer, target, token);
    if (recipient === "early") continue;
    if (recipient !== null) deposits.push(depositOf(ids[number], transfer, recipient));
    else if (isUnmatched(transfer, target)) {
      unmatched.push(unmatchedOf(ids[number], place, transfer, { target, token }));
    }
  }
  // Nodes that disagree give several versions of one transfer: the first counts, a deposit before
  // an unmatched one. One at an own address counts before one at a linked address: on Solana a stranger can
  // link the address of a token account that he makes for an own address, where coins and tokens arrive under one
  // index.
  const isLinked = ({ address }: SeenDeposit) => Number(targets.get(address)?.since !== null);
  deposits.sort((one, other) => isLinked(one) - isLinked(other));
  const keys = new Set<string>();
  const isFirst = (one: SeenDeposit | SeenUnmatchedDeposit) => {
    const key = transferKey(one);
    return !keys.has(key) && keys.add(key);
  };
  return { deposits: deposits.filter(isFirst), unmatched: unmatched.filter(isFirst), at };
}

/** The key of a transfer in the database. */
export function transferKey(
  { hash, index, address }: Pick<SeenDeposit, "hash" | "index" | "address">,
): string {
  return `${hash} ${index} ${index === INSIDE ? address : ""}`;
}

/** The owner of each address. Own addresses take precedence over linked ones. */
export function targetsOf(rows: readonly TargetRow[]): Map<string, TargetRow> {
  const targets = new Map<string, TargetRow>();
  for (const row of rows) {
    const known = targets.get(row.address);
    if (known === undefined || known.since !== null) targets.set(row.address, row);
  }
  return targets;
}

function recipientOf(
  transfer: SeenTransfer,
  target: TargetRow,
  token: KeptToken | undefined,
): Recipient | "early" | null {
  const height = transfer.block?.height ?? null;
  const early = (since: number | null) => since !== null && height !== null && height <= since;
  const { account, owner, data } = target;
  const asset = findAsset(target.asset);
  if (asset !== null && asset.contract === transfer.contract) {
    if (early(target.since)) return "early";
    return { account, owner, data, asset: asset.code, decimals: asset.decimals };
  }
  if (token !== undefined && token.symbol === target.asset) {
    return { account, owner, data, asset: token.symbol, decimals: token.decimals };
  }
  if (token === undefined || token.address !== transfer.to) return null;
  if (early(token.since)) return "early";
  const { symbol, decimals } = token;
  return { account: token.account, owner: token.owner, data: {}, asset: symbol, decimals };
}

function depositOf(id: string, transfer: SeenTransfer, recipient: Recipient): SeenDeposit {
  const { account, owner, asset, decimals, data } = recipient;
  return {
    id,
    hash: transfer.hash,
    index: transfer.index,
    account,
    address: transfer.to,
    asset,
    contract: transfer.contract,
    amount: fromUnits(transfer.amount, decimals),
    sender: transfer.from,
    block: transfer.block?.height ?? null,
    block_hash: transfer.block?.hash ?? null,
    matures_at: transfer.maturesAt,
    address_data: Object.keys(data).length === 0 ? null : data,
    owner,
  };
}

/**
 * Coins at the address of a token's ramp are its gas. Linked addresses have no unmatched deposits.
 */
function isUnmatched(transfer: SeenTransfer, target: TargetRow): boolean {
  if (transfer.block === null || target.since !== null) return false;
  return transfer.contract !== null || !target.ramp;
}

function unmatchedOf(
  id: string,
  place: NetworkKey,
  transfer: SeenTransfer,
  of: { target: TargetRow; token: KeptToken | undefined },
): SeenUnmatchedDeposit {
  const { hash, index, contract } = transfer;
  const chain = place.chain as ChainId;
  // Contracts of the registry are those of the main networks.
  const known = contract === null
    ? nativeAsset(chain).code
    : place.network === "main"
    ? tokenByContract(chain, contract)?.code
    : undefined;
  return {
    id,
    hash,
    index,
    account: of.target.account,
    address: transfer.to,
    asset: known ?? of.token?.symbol ?? null,
    contract,
    amount_base: `${transfer.amount}`,
    sender: transfer.from,
    block: transfer.block!.height,
  };
}
