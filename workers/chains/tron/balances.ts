/**
 * Balances on Tron. Nodes tell them of the newest final block and of the newest block, and of no earlier one. The
 * balance at another height is that of the final block and what the blocks between moved.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { balanceCall, readNumber, readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { Balances, Holding } from "../observations.ts";
import { toContractForm, toHexAddress } from "./address_forms.ts";
import { type FullBlock, knownBlock, type Space, type TronTransaction } from "./block.ts";
import type { Tron } from "./context.ts";
import { askRecord, blockAt, hexOf, messageOf, newestBlock, units } from "./node_answers.ts";

/** Most blocks between a height and the final block: about four times the usual distance. */
const BETWEEN_MAX = 80;
/** Most blocks that are read for one sum of spending. */
const SPENT_MAX = 400;
/** Balances that are read of one final block: more might not fit between two. */
const AT_ONCE = 8;
const TRIES = 4;
const MISSING = /contract is not exist|no contract or not a/i;

/** An address and a contract as nodes write them. */
interface HexHolding {
  readonly owner: string;
  readonly contract: string | null;
}

/** Reads balances through one node, at a height or at its newest block. */
export async function balancesOf(
  tron: Tron,
  peer: Peer,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  const wanted = holdings.map(({ address, contract }) => ({
    owner: toHexAddress(tron.ethers, address),
    contract: contract === null ? null : toHexAddress(tron.ethers, contract),
  }));
  // Alone, because a node that rests after a failure answers one question at a time.
  const head = height ?? (await newestBlock(peer)).height;
  const amounts: bigint[] = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const some = wanted.slice(at, at + AT_ONCE);
    const told = height === null
      ? await Promise.all(some.map((one) => saidBalance(peer, "wallet", one)))
      : await heldAt(tron, peer, some, height);
    amounts.push(...told);
  }
  return { height: head, amounts };
}

async function saidBalance(peer: Peer, space: Space, one: HexHolding): Promise<bigint> {
  const amount = await balanceNow(peer, space, one);
  if (amount !== null) return amount;
  throw new ChainError("refused", "the contract does not tell balances");
}

/** Reads balances of the final block, and adds what moved between it and a height. */
async function heldAt(
  tron: Tron,
  peer: Peer,
  wanted: readonly HexHolding[],
  height: number,
): Promise<bigint[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const final = await newestBlock(peer, true);
    const told = await Promise.all(
      wanted.map((one) => balanceNow(peer, "walletsolidity", one)),
    );
    if ((await newestBlock(peer, true)).hash !== final.hash) continue;
    if (Math.abs(height - final.height) > BETWEEN_MAX) {
      const why = `${peer.name} keeps no balances of block ${height}`;
      throw new ChainError("unavailable", why);
    }
    const blocks = await blocksBetween(tron, peer, final, height);
    return wanted.map((one, at) => {
      const moved = blocks.reduce((sum, block) => sum + movedIn(block, one), 0n);
      const known = told[at] ?? (height > final.height && moved > 0n ? 0n : null);
      if (known === null) throw new ChainError("refused", "the contract does not tell balances");
      return height >= final.height ? known + moved : known - moved;
    });
  }
  throw new ChainError("unavailable", `${peer.name} moves on faster than balances are read`);
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
  const owner = toHexAddress(tron.ethers, address);
  const holding = { owner, contract: contract && toHexAddress(tron.ethers, contract) };
  const blocks = await blocksDown(tron, peer, top, from);
  const own = blocks.flatMap(({ transactions }) => transactions)
    .filter((one) => one.owner === owner);
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
  return units(account.balance, "a balance");
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
  if (result === true || MISSING.test(messageOf(message))) return null;
  throw new ChainError("unavailable", `${peer.name} tells no balance: ${messageOf(message)}`);
}
