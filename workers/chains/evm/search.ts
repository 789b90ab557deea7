/**
 * Looks closer at single transactions and blocks than a scan can: at calls inside contracts, where a
 * node offers traces, and at what an address really gained by a transfer.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node.ts";
import { type Call, RpcError } from "../rpc.ts";
import type { Balances, Block, Checked, Holding, Transfer, Watch } from "../sight.ts";
import type { Evm } from "./context.ts";
import { balanceCall, readNumber, readTransferLog, topicOf, TRANSFER_TOPIC } from "./erc20.ts";
import {
  big,
  bytes,
  isMissingState,
  isRefusal,
  list,
  number,
  readLog,
  readReceipt,
  readTransaction,
  record,
  toHex,
} from "./node.ts";
import {
  bare,
  blockAt,
  indexOf,
  scanRange,
  transfersOf,
  unlisted,
  type WatchIndex,
} from "./scan.ts";

const TRACER = { tracer: "callTracer" };

/** Finds what a transaction brought to watched addresses, by its value, its logs and its calls. */
export async function searchTransaction(
  evm: Evm,
  hash: string,
  watch: Watch,
  calls: "never" | "if offered" | "must" = "if offered",
): Promise<Transfer[]> {
  return await evm.nodes.ask(async (peer) => {
    const receipt = readReceipt(await peer.call("eth_getTransactionReceipt", [hash]));
    if (receipt === null || !receipt.success) return [];
    const given = await peer.call("eth_getTransactionByHash", [hash]);
    const transaction = given === null ? unlisted(hash) : readTransaction(given);
    const block = await blockAt(peer, receipt.height, false);
    if (block.hash !== receipt.blockHash) {
      throw new ChainError("unavailable", `the chain is changing around ${hash}`);
    }
    const index = indexOf(watch);
    const direct = transfersOf(evm, block, transaction, receipt, index);
    if (calls === "never") return direct;
    const trace = await traced(peer, "debug_traceTransaction", [hash, TRACER]);
    if (trace !== null) return [...direct, ...inside(evm, block, hash, trace, index)];
    if (calls === "must") throw new ChainError("unavailable", `${peer.name} offers no traces`);
    return direct;
  });
}

/** Finds what a block brought to watched addresses, as deep as {@link searchTransaction}. */
export async function searchBlock(evm: Evm, height: number, watch: Watch): Promise<Transfer[]> {
  const found: Transfer[] = [];
  for await (const { block, transfers } of scanRange(evm, height, height, watch)) {
    const trace = await evm.nodes.ask((peer) =>
      traced(peer, "debug_traceBlockByHash", [block.hash, TRACER])
    );
    found.push(...transfers);
    for (const one of trace === null ? [] : list(trace)) {
      const { txHash, result } = record(one, "a trace");
      if (result) found.push(...inside(evm, block, String(txHash), result, indexOf(watch)));
    }
  }
  return found;
}

/** Reads a transfer again, and measures what its receiver gained if it is a token's. */
export async function recheck(evm: Evm, transfer: Transfer): Promise<Checked | null> {
  const addresses = new Set([transfer.to]);
  const contracts = new Set(transfer.contract === null ? [] : [transfer.contract]);
  const watch = { addresses, claims: new Set<string>(), contracts };
  const calls = transfer.index < -1 ? "must" : "never";
  const found = await searchTransaction(evm, transfer.hash, watch, calls);
  const again = found.find((one) =>
    one.index === transfer.index && one.to === transfer.to && one.contract === transfer.contract
  );
  if (!again) return null;
  if (again.contract === null) return { transfer: again, received: again.amount, proven: true };
  return await evm.nodes.ask((peer) => measured(peer, again));
}

/** Reads balances, all of one block. */
export async function balancesAt(
  evm: Evm,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  return await evm.nodes.ask(async (peer) => {
    const at = height ?? number(await peer.call("eth_blockNumber", []), "a height");
    const answers = await peer.batch(holdings.map((one) => balanceQuestion(one, toHex(at))));
    const amounts = answers.map((answer, place) => {
      const { contract } = holdings[place];
      if (answer instanceof RpcError) {
        throw contract !== null && isRefusal(answer) ? mute(contract) : answer;
      }
      return contract === null ? big(answer, "a balance") : readNumber(bytes(answer)) ?? 0n;
    });
    return { height: at, amounts };
  });
}

/** Asks for a balance at a block, by height or by hash. */
export function balanceQuestion({ address, contract }: Holding, at: unknown): Call {
  if (contract === null) return { method: "eth_getBalance", params: [address, at] };
  return { method: "eth_call", params: [{ to: contract, data: balanceCall(address) }, at] };
}

async function measured(peer: Peer, transfer: Transfer): Promise<Checked> {
  const { block, contract, to, amount } = transfer;
  if (block === null) return { transfer, received: 0n, proven: false };
  const holding = { address: to, contract };
  const mine = topicOf(to);
  const [into, out, after, before] = await peer.batch([
    logQuestion(block, contract, [TRANSFER_TOPIC, null, mine]),
    logQuestion(block, contract, [TRANSFER_TOPIC, mine]),
    balanceQuestion(holding, { blockHash: block.hash }),
    balanceQuestion(holding, { blockHash: block.parentHash }),
  ]);
  for (const answer of [into, out, after, before]) {
    if (!(answer instanceof RpcError)) continue;
    // Only old balances can be gone for good; then the log is all there is.
    const gone = answer === after || answer === before;
    if (gone && isMissingState(answer)) return { transfer, received: amount, proven: false };
    throw gone && isRefusal(answer) ? mute(contract) : answer;
  }
  const [income, spent] = [sumOf(into), sumOf(out)];
  const gained = (readNumber(bytes(after)) ?? 0n) - (readNumber(bytes(before)) ?? 0n);
  const short = income - spent - gained;
  if (short <= 0n) return { transfer, received: amount, proven: true };
  // Several payments of a block share what is missing, each by its size.
  const left = income > short ? (amount * (income - short)) / income : 0n;
  return { transfer, received: left, proven: true };
}

/** No node is to blame, and none would answer otherwise. */
function mute(contract: string | null): ChainError {
  return new ChainError("refused", `the contract ${contract} does not tell balances`);
}

function logQuestion(block: Block, contract: string | null, topics: (string | null)[]): Call {
  return { method: "eth_getLogs", params: [{ address: contract, topics, blockHash: block.hash }] };
}

function sumOf(answer: unknown): bigint {
  const said = list(answer).map(readLog).map((log) => readTransferLog(log.topics, log.data));
  return said.reduce((sum, one) => sum + (one?.amount ?? 0n), 0n);
}

async function traced(peer: Peer, method: string, params: readonly unknown[]): Promise<unknown> {
  try {
    return await peer.call(method, params);
  } catch (error) {
    // Few nodes trace, fewer old blocks; then calls stay unseen until balances differ.
    if (error instanceof RpcError) return null;
    throw error;
  }
}

/** Lists coins that calls inside a transaction moved to watched addresses. */
function inside(
  evm: Evm,
  block: Block,
  hash: string,
  trace: unknown,
  index: WatchIndex,
): Transfer[] {
  const found: Transfer[] = [];
  let moves = 0;
  function walk(given: unknown, outermost: boolean): void {
    const frame = record(given, "a call");
    // What failed was undone, with all that it had called.
    if (frame.error !== undefined) return;
    const amount = frame.value === undefined ? 0n : big(frame.value, "a value");
    if (!outermost && amount > 0n && MOVES.has(String(frame.type))) {
      moves++;
      const [from, to] = [String(frame.from).toLowerCase(), String(frame.to).toLowerCase()];
      const owner = index.addresses.get(to);
      if (owner !== undefined && from !== to) {
        found.push({
          hash,
          index: -1 - moves,
          from: evm.ethers.getAddress(from),
          to: owner,
          contract: null,
          amount,
          block: bare(block),
          maturesAt: null,
        });
      }
    }
    for (const call of Array.isArray(frame.calls) ? frame.calls : []) walk(call, false);
  }
  walk(trace, true);
  return found;
}

/** Frames that move coins; a delegate call only repeats the value of its caller. */
const MOVES: ReadonlySet<string> = new Set(["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"]);
