/**
 * What an arrival at a watched address is: a deposit of the address's asset, a token of the realm's
 * own that comes back to its ramp, value of our own moving about, or an unmatched deposit: an
 * asset that the address is not for. Operators find those in a list; nothing books them.
 * @module
 */
import type { PlaceKey } from "../../db/chains/cursors.ts";
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

/** Arrivals, told apart. */
export interface Arrivals {
  readonly deposits: readonly SeenDeposit[];
  readonly unmatched: readonly SeenUnmatchedDeposit[];
  /** The time that their ids tell. */
  readonly at: number;
}

/** Whose a deposit is, and of what. */
interface Claim {
  account: string;
  owner: string | null;
  asset: string;
  decimals: number;
  data: Record<string, unknown>;
}

/** The place in a transaction of what calls inside it brought, which is told for each address. */
const INSIDE = -2;

/** Purposes of our own transactions whose arrivals are no deposits. */
const INWARD = new Set(["sweep", "gas", "fill", "consolidation"]);

/** Tells arrivals apart. Those of our own making, and those that do not count yet, are neither. */
export async function sortArrivals(
  tx: Tx,
  place: PlaceKey,
  given: { transfers: readonly SeenTransfer[]; at: number },
): Promise<Arrivals> {
  const { transfers } = given;
  const targets = targetsOf(await selectTargets(tx, place, transfers.map((one) => one.to)));
  const own = new Map(
    (await selectOwnTransactions(tx, place, transfers.map((one) => one.hash)))
      .map((sent) => [sent.hash, sent]),
  );
  const tokens = transfers.some((one) => one.contract !== null);
  const kept = new Map(
    (tokens ? await selectKeptTokens(tx, place) : []).map((token) => [token.contract, token]),
  );
  const { ids, at } = newIds(given.at, transfers.length);
  const deposits: SeenDeposit[] = [];
  const unmatched: SeenUnmatchedDeposit[] = [];
  for (const [number, transfer] of transfers.entries()) {
    const target = targets.get(transfer.to);
    const sent = own.get(transfer.hash);
    if (target === undefined) continue;
    if (sent !== undefined && (INWARD.has(sent.purpose) || sent.sender === transfer.to)) continue;
    const token = kept.get(transfer.contract ?? "");
    const claim = claimOf(transfer, target, token);
    if (claim === "early") continue;
    if (claim !== null) deposits.push(depositOf(ids[number], transfer, claim));
    else if (isUnmatched(transfer, target)) {
      unmatched.push(unmatchedOf(ids[number], place, transfer, { target, token }));
    }
  }
  // What nodes do not agree on may come in several versions: the first counts, and a deposit before an unmatched one.
  const places = new Set<string>();
  const isFirst = (one: SeenDeposit | SeenUnmatchedDeposit) => {
    const place = placeOf(one);
    return !places.has(place) && places.add(place);
  };
  return { deposits: deposits.filter(isFirst), unmatched: unmatched.filter(isFirst), at };
}

/** What tells arrivals apart in the database. */
export function placeOf(
  { hash, index, address }: Pick<SeenDeposit, "hash" | "index" | "address">,
): string {
  return `${hash} ${index} ${index === INSIDE ? address : ""}`;
}

/** Whose each address is. One of our own is ours, whoever watches it too. */
export function targetsOf(rows: readonly TargetRow[]): Map<string, TargetRow> {
  const targets = new Map<string, TargetRow>();
  for (const row of rows) {
    const known = targets.get(row.address);
    if (known === undefined || known.since !== null) targets.set(row.address, row);
  }
  return targets;
}

function claimOf(
  transfer: SeenTransfer,
  target: TargetRow,
  token: KeptToken | undefined,
): Claim | "early" | null {
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

function depositOf(id: string, transfer: SeenTransfer, claim: Claim): SeenDeposit {
  const { account, owner, asset, decimals, data } = claim;
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

/** Coins at the address of a token's ramp are its gas; addresses that are only watched have none. */
function isUnmatched(transfer: SeenTransfer, target: TargetRow): boolean {
  if (transfer.block === null || target.since !== null) return false;
  return transfer.contract !== null || !target.ramp;
}

function unmatchedOf(
  id: string,
  place: PlaceKey,
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
