/**
 * Proof of a transfer before it is credited: as many nodes as the quorum, each asked separately, must
 * report the same transfer and the same gain of the receiver's balance.
 * @module
 */
import { ChainError, SilentTokenError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { allOf } from "../peer.ts";
import { type Call, RpcError } from "../rpc.ts";
import type { Block, Checked, Evidence, Transfer } from "../observations.ts";
import type { Evm } from "./context.ts";
import { readNumber, readTransferLog, topicOf, TRANSFER_TOPIC } from "./erc20.ts";
import { big, bytes, isMissingState, isRefusal, number, readLogs, toHex } from "./node_answers.ts";
import { scanPart } from "./scan.ts";
import { balanceQuestion, findTransaction, INSIDE } from "./search.ts";
import { spentIn } from "./outflow.ts";

/** Wei; none of these coins has a supply as large. */
const COINS_MAX = 10n ** 29n;

/** Reads a transfer again, and measures the gain of its receiver. */
export async function recheck(
  evm: Evm,
  transfer: Transfer,
  evidence: Evidence = {},
): Promise<Checked | null> {
  return await evm.nodes.agree(
    (peer) => witness(evm, peer, transfer, evidence),
    keyOf,
    `transaction ${transfer.hash}`,
  );
}

/** The fields that nodes must agree on. */
function keyOf(checked: Checked | null): string {
  if (checked === null) return "none";
  const { transfer: { block, amount, from }, received } = checked;
  return [block?.hash, amount, from, received].join(" ");
}

/** Lists the questions that nearly every proof of a transfer asks, each of whose parameters is known before. */
function usualQuestions({ hash, block, to, contract }: Transfer, { inBlock }: Evidence): Call[] {
  if (block === null) return [];
  const heights = contract === null && inBlock !== undefined && block.height > 0
    ? [block.height, block.height - 1]
    : [];
  return [
    { method: "eth_blockNumber", params: [] },
    { method: "eth_getTransactionReceipt", params: [hash] },
    { method: "eth_getTransactionByHash", params: [hash] },
    { method: "eth_getBlockByNumber", params: [toHex(block.height), false] },
    ...heights.map((at) => balanceQuestion({ address: to, contract: null }, toHex(at))),
  ];
}

/** Asks a node some questions by one request, and gives a node that answers those by what it said. */
async function askAhead(peer: Peer, calls: readonly Call[]): Promise<Peer> {
  if (calls.length === 0) return peer;
  const nameOf = ({ method, params }: Call) => JSON.stringify([method, params]);
  const answers = await peer.join(calls);
  const known = new Map(calls.map((call, at) => [nameOf(call), answers[at]]));
  const batch = async (asked: readonly Call[]) => {
    const rest = asked.filter((call) => !known.has(nameOf(call)));
    const others = rest.length === 0 ? [] : await peer.batch(rest);
    return asked.map((call) =>
      known.has(nameOf(call)) ? known.get(nameOf(call)) : others[rest.indexOf(call)]
    );
  };
  return {
    ...peer,
    call: async (method, params) => allOf(await batch([{ method, params }]))[0],
    batch,
  };
}

async function witness(
  evm: Evm,
  asked: Peer,
  transfer: Transfer,
  evidence: Evidence,
): Promise<Checked | null> {
  const peer = await askAhead(asked, usualQuestions(transfer, evidence));
  const { depth } = evidence;
  if (depth !== undefined && transfer.block !== null) {
    const head = number(await peer.call("eth_blockNumber", []), "a height");
    if (head - transfer.block.height + 1 < depth) {
      throw new ChainError("unavailable", `${peer.name} is only at block ${head}`);
    }
  }
  const contracts = new Set(transfer.contract === null ? [] : [transfer.contract]);
  const watch = { addresses: new Set([transfer.to]), inputs: new Set<string>(), contracts };
  const calls = transfer.index === INSIDE;
  const found = await findTransaction(evm, peer, { hash: transfer.hash, watch, calls });
  if (found === null) return null;
  if (calls && !found.traced) return await untraced(evm, peer, transfer, found.block, evidence);
  const again = found.transfers.find((one) =>
    one.index === transfer.index && one.to === transfer.to && one.contract === transfer.contract
  );
  if (!again) return null;
  if (again.contract !== null) {
    const beside = found.transfers.filter(({ contract }) => contract === again.contract);
    return await measured(peer, again, beside);
  }
  const covered = await isCovered(evm, peer, again, evidence);
  if (covered === false) throw uncovered(again);
  // Calls that were credited by balances alone may have been those of this transaction.
  const taken = calls && (evidence.called ?? 0n) > 0n;
  if (taken && await areCallsCovered(evm, peer, again, evidence) === false) return null;
  return { transfer: again, received: again.amount, proven: true };
}

/**
 * Proves by balances alone the transfers of a transaction's inner calls, where its trace is gone; null where they deny
 * that calls brought as much.
 */
async function untraced(
  evm: Evm,
  peer: Peer,
  transfer: Transfer,
  block: Block,
  evidence: Evidence,
): Promise<Checked | null> {
  const again = { ...transfer, block };
  const checked = { transfer: again, received: again.amount, proven: true };
  if (await isCovered(evm, peer, again, evidence) === false) throw uncovered(again);
  const covered = await areCallsCovered(evm, peer, again, evidence);
  if (covered === false) return null;
  if (covered || await isHeld(peer, again, evidence)) return checked;
  throw new ChainError("unavailable", `${peer.name} has neither traces nor balances of that block`);
}

/**
 * Tells whether the balance of the receiver rose in the block by the sum of the transfers recorded for
 * it; null where no balances can be compared.
 */
async function isCovered(
  evm: Evm,
  peer: Peer,
  { to, block, amount }: Transfer,
  { inBlock }: Evidence,
): Promise<boolean | null> {
  if (amount >= COINS_MAX) return false;
  if (inBlock === undefined || block === null || block.height === 0) return null;
  const holding = { address: to, contract: null };
  const answers = await peer.batch(
    [block.height, block.height - 1].map((at) => balanceQuestion(holding, toHex(at))),
  );
  for (const answer of answers) {
    if (!(answer instanceof RpcError)) continue;
    if (isMissingState(answer)) return null;
    throw answer;
  }
  const [after, before] = answers.map((answer) => big(answer, "a balance"));
  // Where several nodes confirm each transfer, an invented one keeps no other from counting.
  const claimed = evm.nodes.quorum > 1 || inBlock < amount ? amount : inBlock;
  if (after - before >= claimed) return true;
  return after - before + await spentIn(evm, peer, holding, block.height) >= claimed;
}

/**
 * Tells whether calls brought the receiver as much in the block as is recorded of them: what transactions themselves
 * paid counts for those, or one node that invents a call beside a payment would have it credited twice. Null where no
 * balances can be compared.
 */
async function areCallsCovered(
  evm: Evm,
  peer: Peer,
  { to, block, amount }: Transfer,
  { called = 0n }: Evidence,
): Promise<boolean | null> {
  if (block === null || block.height === 0) return null;
  const { height } = block;
  const holding = { address: to, contract: null };
  const answers = await peer.batch(
    [height, height - 1].map((at) => balanceQuestion(holding, toHex(at))),
  );
  for (const answer of answers) {
    if (!(answer instanceof RpcError)) continue;
    if (isMissingState(answer)) return null;
    throw answer;
  }
  const [after, before] = answers.map((answer) => big(answer, "a balance"));
  const watch = {
    addresses: new Set([to]),
    inputs: new Set<string>(),
    contracts: new Set<string>(),
  };
  const [scanned] = await scanPart(evm, peer, height, height, watch);
  if (scanned.block.hash !== block.hash) {
    throw new ChainError("unavailable", `${peer.name} is changing its chain`);
  }
  const paid = sumOf(scanned.transfers);
  return after - before - paid + await spentIn(evm, peer, holding, height) >= amount + called;
}

/** Tells whether an address that never spent anything holds the sum of its recorded transfers. */
async function isHeld(peer: Peer, { to }: Transfer, { ever }: Evidence): Promise<boolean> {
  if (ever === undefined) return false;
  const holding = { address: to, contract: null };
  const [balance, count] = await peer.batch([
    balanceQuestion(holding, "latest"),
    { method: "eth_getTransactionCount", params: [to, "latest"] },
  ]);
  if (balance instanceof RpcError || count instanceof RpcError) return false;
  return number(count, "a nonce") === 0 && big(balance, "a balance") >= ever;
}

function uncovered({ to, hash }: Transfer): ChainError {
  return new ChainError("refused", `the balance of ${to} does not bear out ${hash}`);
}

/**
 * Measures what a token's transfer brought.
 *
 * @param beside the transfers of the same token to the same address by its transaction, itself included
 */
async function measured(
  peer: Peer,
  transfer: Transfer,
  beside: readonly Transfer[],
): Promise<Checked> {
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
  for (const answer of [into, out]) if (answer instanceof RpcError) throw answer;
  const logged = transfersIn(into);
  const same = logged.filter(({ hash }) => hash === transfer.hash);
  // What a receipt alone tells, or twice, the address did not get.
  if (same.map(({ amount }) => amount).join() !== beside.map(({ amount: told }) => told).join()) {
    throw new ChainError("refused", `the logs of its block do not bear out ${transfer.hash}`);
  }
  for (const answer of [after, before]) {
    if (!(answer instanceof RpcError)) continue;
    // Only old balances can be gone for good; then the logs are the only evidence.
    if (isMissingState(answer)) return { transfer, received: amount, proven: false };
    throw isRefusal(answer) ? new SilentTokenError(contract) : answer;
  }
  const [income, spent] = [sumOf(logged), sumOf(transfersIn(out))];
  const gained = (readNumber(bytes(after)) ?? 0n) - (readNumber(bytes(before)) ?? 0n);
  const short = income - spent - gained;
  if (short <= 0n) return { transfer, received: amount, proven: true };
  // Several payments of a block share the shortfall, each by its size.
  const left = income > short ? (amount * (income - short)) / income : 0n;
  return { transfer, received: left, proven: true };
}

function logQuestion(block: Block, contract: string | null, topics: (string | null)[]): Call {
  return { method: "eth_getLogs", params: [{ address: contract, topics, blockHash: block.hash }] };
}

/** Reads the transfers that logs of a block tell, but those of nothing and to the payer. */
function transfersIn(answer: unknown): { hash: string; amount: bigint }[] {
  return readLogs(answer).flatMap(({ hash, topics, data }) => {
    const said = readTransferLog(topics, data);
    return said === null || said.amount === 0n || said.from === said.to
      ? []
      : { hash, amount: said.amount };
  });
}

function sumOf(transfers: readonly { amount: bigint }[]): bigint {
  return transfers.reduce((sum, { amount }) => sum + amount, 0n);
}
