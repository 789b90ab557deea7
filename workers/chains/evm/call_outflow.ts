/**
 * What a call moved that no plan of ours makes, as as many nodes as the quorum tell of a final block: coins by its value
 * and the calls inside it, tokens by their logs.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Outflow, OutflowQuery } from "../outgoing.ts";
import { movedBy, type Movement } from "../outflows.ts";
import type { Evm } from "./context.ts";
import { readTransferLog } from "./erc20.ts";
import { standingOf } from "./finality.ts";
import {
  bytes,
  type EvmLog,
  type EvmTransaction,
  isAddress,
  readReceipt,
  readTransaction,
  toHex,
} from "./node_answers.ts";
import { blockAt } from "./scan.ts";
import { movesInside, traced, TRACER } from "./search.ts";

/** Reads what a transaction moved. */
export async function callOutflow(evm: Evm, hash: string, of: OutflowQuery): Promise<Outflow> {
  return await evm.nodes.agree(
    (peer) => witness(evm, peer, hash, of),
    ({ block, from, fee, assets }) =>
      JSON.stringify(
        [block, from, `${fee}`, assets],
        (_, one) => typeof one === "bigint" ? `${one}` : one,
      ),
    `what ${hash} moved`,
  );
}

async function witness(evm: Evm, peer: Peer, hash: string, of: OutflowQuery): Promise<Outflow> {
  const receipt = readReceipt(await peer.call("eth_getTransactionReceipt", [hash]));
  const given = await peer.call("eth_getTransactionByHash", [hash]);
  if (receipt === null || given === null) {
    throw new ChainError("unavailable", `${peer.name} has no block with ${hash}`);
  }
  const transaction = readTransaction(given);
  const block = await blockAt(peer, receipt.height, false);
  const named = [receipt.hash, transaction.hash].every((one) => one === hash);
  if (block.hash !== receipt.blockHash || !named || receipt.from !== transaction.from) {
    throw new ChainError("unavailable", `${peer.name} is changing its chain around ${hash}`);
  }
  const { height, finalized } = await standingOf(evm, peer);
  if ((finalized ?? height) < block.height) {
    throw new ChainError(
      "unavailable",
      `${peer.name} does not call the block of ${hash} final yet`,
    );
  }
  const { getAddress } = evm.ethers;
  const name = (one: string | null) => one === null ? null : getAddress(one);
  const coins = receipt.success ? await coinsOf(peer, transaction, block.height) : [];
  const tokens = receipt.success ? receipt.logs.flatMap((log) => tokensOf(evm, log, coins)) : [];
  const moves = [...coins, ...tokens].map(({ from, to, contract, amount }) => ({
    ...{ from: name(from), to: name(to), contract: name(contract), amount },
  }));
  const from = getAddress(transaction.from);
  const fee = of.own.has(from) && !transaction.feeInToken ? receipt.fee : 0n;
  return { block: block.hash, from: [from], fee, assets: movedBy(moves, of) };
}

/**
 * Lists the coins that a transaction moved: its value, and those of the calls inside it where it ran code.
 *
 * @throws {ChainError} `unavailable` where the node does not tell these calls
 */
async function coinsOf(
  peer: Peer,
  { hash, from, to, value }: EvmTransaction,
  height: number,
): Promise<Movement[]> {
  const own = { from, to, contract: null, amount: value };
  if (to !== null && bytes(await peer.call("eth_getCode", [to, toHex(height)])) === "0x") {
    return [own];
  }
  const trace = await traced(peer, "debug_traceTransaction", [hash, TRACER]);
  if (trace === null) {
    throw new ChainError(
      "unavailable",
      `${peer.name} does not tell the calls inside it (debug_traceTransaction): add nodes that do`,
    );
  }
  const outermost = readRecord(trace, "a call");
  const isSame = isAddress(outermost.from) && outermost.from.toLowerCase() === from &&
    isAddress(outermost.to) && (to === null || outermost.to.toLowerCase() === to) &&
    outermost.error === undefined;
  if (!isSame) {
    throw new ChainError("unavailable", `${peer.name} tells the calls of another transaction`);
  }
  const created = to ?? (outermost.to as string).toLowerCase();
  const inner = movesInside(trace).map((move) => ({ ...move, contract: null }));
  return [{ ...own, to: created }, ...inner];
}

/** Reads a transfer of a token; where the coin is a token too, it may appear as a value and as a log. */
function tokensOf(evm: Evm, log: EvmLog, coins: readonly Movement[]): Movement[] {
  const said = readTransferLog(log.topics, log.data);
  if (said === null || said === undefined) return [];
  const isCoin = log.address === evm.table.nativeToken;
  const move = { ...said, contract: isCoin ? null : log.address };
  const isRepeated = isCoin &&
    coins.some(({ from, to, amount }) =>
      from === move.from && to === move.to && amount === move.amount
    );
  return isRepeated ? [] : [move];
}
