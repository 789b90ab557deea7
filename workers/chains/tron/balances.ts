/**
 * Balances on Tron. Nodes tell them of the newest final block and of the newest block, and of no earlier one. The
 * balance at another height is that of the final block and what the blocks between moved.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError, SilentTokenError } from "../chain.ts";
import { balanceCall, readNumber, readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { Balances, Holding } from "../observations.ts";
import { toContractForm, toHexAddress } from "./address_forms.ts";
import { type FullBlock, knownBlock, type Space, type TronTransaction } from "./block.ts";
import { isCodeFault, isOutOfTime } from "./calls.ts";
import type { Tron } from "./context.ts";
import {
  askRecord,
  balanceIn,
  blockAt,
  hexOf,
  messageOf,
  newestBlock,
  type TronBlock,
} from "./node_answers.ts";

/** Most blocks between a height and the final block: about four times the usual distance. */
const BETWEEN_MAX = 80;
/** Most blocks that are read for one sum of spending. */
const SPENT_MAX = 400;
/** Balances that are read of one final block: more might not fit between two. */
const OF_ONE_BLOCK = 40;
const AT_ONCE = 8;
const TRIES = 4;
const MISSING = /contract is not exist|no contract or not a/i;

/** An address and a contract as nodes write them. */
interface HexHolding {
  readonly owner: string;
  readonly contract: string | null;
}

/**
 * Reads balances through one node, at its newest block or at a height. Of a height below the final block it tells
 * those of the final block: what blocks do not show cannot be taken off again.
 */
export async function balancesOf(
  tron: Tron,
  peer: Peer,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  const wanted = holdings.map((one) => inHex(tron, one));
  if (height === null) {
    // Alone, because a node that rests after a failure answers one question at a time.
    const head = await newestBlock(peer);
    const told = await inGroups(
      wanted,
      async (one) => assertTold(one, await balanceNow(peer, "wallet", one)),
    );
    return { height: head.height, amounts: told };
  }
  const parts: Part[] = [];
  for (let at = 0; at < wanted.length; at += OF_ONE_BLOCK) {
    parts.push(await finalPart(peer, wanted.slice(at, at + OF_ONE_BLOCK)));
  }
  const top = Math.max(height, ...parts.map(({ final }) => final.height));
  const amounts: bigint[] = [];
  for (const part of parts) amounts.push(...await movedTo(tron, peer, part, top));
  return { height: top, amounts };
}

/** Reads one balance at a height, above the final block or below it. */
export async function balanceAt(
  tron: Tron,
  peer: Peer,
  holdings: readonly Holding[],
  height: number,
): Promise<Balances> {
  const part = await finalPart(peer, holdings.map((one) => inHex(tron, one)));
  return { height, amounts: await movedTo(tron, peer, part, height) };
}

function inHex({ ethers }: Tron, { address, contract }: Holding): HexHolding {
  const owner = toHexAddress(ethers, address);
  return { owner, contract: contract === null ? null : toHexAddress(ethers, contract) };
}

/** Balances of one final block; null where a contract does not tell one. */
interface Part {
  readonly wanted: readonly HexHolding[];
  readonly final: TronBlock;
  readonly told: readonly (bigint | null)[];
}

/** Reads balances that are all of one final block. */
async function finalPart(peer: Peer, wanted: readonly HexHolding[]): Promise<Part> {
  for (let tries = 0; tries < TRIES; tries++) {
    const final = await newestBlock(peer, true);
    const told = await inGroups(wanted, (one) => balanceNow(peer, "walletsolidity", one));
    if ((await newestBlock(peer, true)).hash === final.hash) return { wanted, final, told };
  }
  throw new ChainError("unavailable", `${peer.name} moves on faster than balances are read`);
}

async function inGroups<T>(
  wanted: readonly HexHolding[],
  read: (one: HexHolding) => Promise<T>,
): Promise<T[]> {
  const told: T[] = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    told.push(...await Promise.all(wanted.slice(at, at + AT_ONCE).map(read)));
  }
  return told;
}

/** Adds what moved between the final block and a height, or takes it off. */
async function movedTo(
  tron: Tron,
  peer: Peer,
  { wanted, final, told }: Part,
  height: number,
): Promise<bigint[]> {
  if (Math.abs(height - final.height) > BETWEEN_MAX) {
    throw new ChainError("unavailable", `${peer.name} keeps no balances of block ${height}`);
  }
  const blocks = await blocksBetween(tron, peer, final, height);
  const amounts: bigint[] = [];
  for (const [at, one] of wanted.entries()) {
    const moved = blocks.reduce((sum, block) => sum + movedIn(block, one), 0n);
    // A contract that is younger than the final block has no balances there.
    const known = told[at] ?? (height > final.height && moved > 0n ? 0n : null);
    if (known === null) throw await untold(peer, one);
    amounts.push(height >= final.height ? known + moved : known - moved);
  }
  return amounts;
}

/** Makes the error for a balance that the final block does not have. A contract that is younger has it soon. */
async function untold(peer: Peer, one: HexHolding): Promise<SilentTokenError> {
  const isYoung = await balanceNow(peer, "wallet", one) !== null;
  return new SilentTokenError(one.contract, isYoung ? "held" : "refused");
}

function assertTold({ contract }: HexHolding, amount: bigint | null): bigint {
  if (amount !== null) return amount;
  throw new SilentTokenError(contract);
}

/** Reads the blocks above the lower of two heights up to the higher; they link to the final block. */
async function blocksBetween(
  tron: Tron,
  peer: Peer,
  final: { readonly height: number; readonly hash: string },
  height: number,
): Promise<FullBlock[]> {
  if (height === final.height) return [];
  const top = height > final.height ? await blockAt(peer, height) : final;
  if (top === null) throw new ChainError("unavailable", `${peer.name} has no block ${height} yet`);
  const blocks = await blocksDown(tron, peer, top, Math.min(height, final.height));
  const lowest = blocks[blocks.length - 1];
  if (height > final.height && lowest.parentHash !== final.hash) {
    throw new ChainError("unavailable", `${peer.name} is changing its chain`);
  }
  return blocks;
}

/** Reads blocks from the top down to above a height. */
async function blocksDown(
  tron: Tron,
  peer: Peer,
  top: { readonly height: number; readonly hash: string },
  above: number,
): Promise<FullBlock[]> {
  const blocks: FullBlock[] = [];
  for (let at = top; at.height > above;) {
    const block = await knownBlock(tron, peer, at);
    blocks.push(block);
    at = { height: block.height - 1, hash: block.parentHash };
  }
  return blocks;
}

/** Adds up the value that left an address by its own transactions in the blocks above `from` up to `to`. */
export async function spentBetween(
  tron: Tron,
  peer: Peer,
  { address, contract }: Holding,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<bigint> {
  if (to <= from) return 0n;
  if (to - from > SPENT_MAX) {
    throw new ChainError("unavailable", `${to - from} blocks are too many for one sum`);
  }
  const top = await blockAt(peer, to);
  if (top === null) throw new ChainError("unavailable", `${peer.name} has no block ${to} yet`);
  const holding = inHex(tron, { address, contract });
  const blocks = await blocksDown(tron, peer, top, from);
  const own = blocks.flatMap(({ transactions }) => transactions)
    .filter((one) => one.owner === holding.owner);
  return own.reduce((sum, one) => sum + outOf(one, holding), 0n);
}

function movedIn({ transactions }: FullBlock, holding: HexHolding): bigint {
  return transactions.reduce((sum, one) => sum + into(one, holding) - outOf(one, holding), 0n);
}

/** What a transaction took from an address, its fee included. */
function outOf(one: TronTransaction, { owner, contract }: HexHolding): bigint {
  if (contract !== null) return logged(one, contract, "from", owner);
  const fee = one.owner === owner ? one.fee : 0n;
  return fee + movesOf(one).filter(({ from }) => from === owner)
    .reduce((sum, { amount }) => sum + amount, 0n);
}

function into(one: TronTransaction, { owner, contract }: HexHolding): bigint {
  if (contract !== null) return logged(one, contract, "to", owner);
  return movesOf(one).filter(({ to }) => to === owner)
    .reduce((sum, { amount }) => sum + amount, 0n);
}

function movesOf({ value, inner }: TronTransaction) {
  return [...(value === null ? [] : [value]), ...inner ?? []];
}

function logged(
  { logs }: TronTransaction,
  contract: string,
  side: "from" | "to",
  owner: string,
): bigint {
  const account = toContractForm(owner);
  return logs.filter(({ address }) => address === toContractForm(contract))
    .map(({ topics, data }) => readTransferLog(topics, data))
    .reduce((sum, said) => said !== null && said[side] === account ? sum + said.amount : sum, 0n);
}

/** Reads a balance as a node has it now; null where the contract does not tell one. */
async function balanceNow(
  peer: Peer,
  space: Space,
  { owner, contract }: HexHolding,
): Promise<bigint | null> {
  if (contract !== null) return await tokenBalance(peer, space, contract, owner);
  const account = await askRecord(peer, `${space}/getaccount`, { address: owner });
  if (Object.keys(account).length === 0) return 0n;
  if (hexOf(account.address, "an address") !== owner) {
    throw new ChainError("unavailable", `${peer.name} gave another account than the one asked for`);
  }
  return balanceIn(account.balance);
}

async function tokenBalance(
  peer: Peer,
  space: Space,
  contract: string,
  owner: string,
): Promise<bigint | null> {
  const data = balanceCall(toContractForm(owner)).slice(2);
  const body = { owner_address: owner, contract_address: contract, data };
  const answer = await askRecord(peer, `${space}/triggerconstantcontract`, body);
  const { result, message } = readRecord(answer.result, "a result");
  if (result === true && message === undefined) {
    const [said] = readList(answer.constant_result ?? []);
    return readNumber(`0x${hexOf(said, "a balance")}`);
  }
  const why = messageOf(message);
  const isOfCode = isCodeFault(why);
  if (isOfCode && isOutOfTime(why)) throw new SilentTokenError(contract, "held");
  if (result === true || MISSING.test(why) || isOfCode) return null;
  throw new ChainError("unavailable", `${peer.name} tells no balance: ${why}`);
}
