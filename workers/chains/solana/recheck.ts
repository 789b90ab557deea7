/**
 * Proof of a transfer before it is credited: as many nodes as the quorum, each asked separately, must have
 * the transaction in the same final block, with the same balances before and after it.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Call } from "../rpc.ts";
import {
  type Block,
  type Checked,
  type Evidence,
  keyOfChecked,
  type Location,
  type Transfer,
  type WatchList,
} from "../observations.ts";
import { finalSlot, readBlockAt, VERSIONS } from "./block.ts";
import type { Solana } from "./context.ts";
import { lacksAccounts, type Movement, readFound, transfersOf } from "./movements.ts";
import { FINALIZED, hasFailed, readNumber } from "./node_answers.ts";

/** Most reported transfers of one searched transaction; more are a node's invention. */
const TOLD_MAX = 256;

/** Asks for a transaction in a final block. */
const FOUND = { ...FINALIZED, ...VERSIONS, encoding: "json" } as const;

/** Asks for the accounts of address tables too, as some nodes tell them in this form alone. */
const PARSED = { ...FOUND, encoding: "jsonParsed" } as const;

/** Reads a transaction that a node gave, after it was asked once more where it left accounts out. */
export async function wholeFound(
  peer: Peer,
  answer: unknown,
  hash: string,
): Promise<ReturnType<typeof readFound>> {
  if (!lacksAccounts(answer)) return readFound(answer, hash);
  return readFound(await peer.call("getTransaction", [hash, PARSED]), hash);
}

/** Asks for a transaction. */
export function transactionQuestion(hash: string): Call {
  return { method: "getTransaction", params: [hash, FOUND] };
}

/** Reads a transfer again as the quorum reports it. */
export async function recheck(
  { nodes }: Solana,
  transfer: Transfer,
  evidence: Evidence = {},
): Promise<Checked | null> {
  return await nodes.agree(
    (peer) => witness(peer, transfer, evidence),
    keyOfChecked,
    `transaction ${transfer.hash}`,
  );
}

async function witness(
  peer: Peer,
  transfer: Transfer,
  { depth }: Evidence,
): Promise<Checked | null> {
  const final = await finalSlot(peer);
  const height = transfer.block?.height ?? 0;
  // A node that is not there yet abstains: it cannot deny the transfer.
  if (final - height + 1 < (depth ?? 1)) {
    throw new ChainError("unavailable", `${peer.name} is only at block ${final}`);
  }
  const watch = {
    addresses: new Set([transfer.to]),
    inputs: new Set<string>(),
    contracts: new Set(transfer.contract === null ? [] : [transfer.contract]),
  };
  const found = await findTransaction(peer, transfer.hash);
  if (found === null) return null;
  const again = transfersOf(found.movement, found.block, watch)
    .find((one) => one.index === transfer.index && one.contract === transfer.contract);
  return again === undefined ? null : { transfer: again, received: again.amount, proven: true };
}

/** Reads a transaction and its block through one node; null where it is in no final block. */
export async function findTransaction(
  peer: Peer,
  hash: string,
): Promise<{ block: Block; movement: Movement } | null> {
  const { method, params } = transactionQuestion(hash);
  const found = await wholeFound(peer, await peer.call(method, params), hash);
  if (found === null) return null;
  const block = await readBlockAt(peer, found.slot);
  if (block !== null) return { block, movement: found.movement };
  throw new ChainError("unavailable", `${peer.name} does not have block ${found.slot}`);
}

/** Tells what a node knows of a transaction. */
export async function locateTransaction({ nodes }: Solana, hash: string): Promise<Location> {
  return await nodes.ask(async (peer) => {
    const how = { searchTransactionHistory: true };
    const answer = readRecord(await peer.call("getSignatureStatuses", [[hash], how]), "statuses");
    const [told] = readList(answer.value);
    if (told === null || told === undefined) return { state: "unknown" };
    const status = readRecord(told, "a status");
    if (status.confirmationStatus !== "finalized") return { state: "pending" };
    const height = readNumber(status.slot, "a slot");
    return { state: hasFailed(status) ? "failed" : "mined", height };
  });
}

/**
 * Finds the transfers of a transaction to watched addresses. A transfer that the quorum denies is left
 * out; one without agreement is reported without its sender.
 */
export async function searchTransaction(
  solana: Solana,
  hash: string,
  watch: WatchList,
): Promise<Transfer[]> {
  const { nodes } = solana;
  async function find(peer: Peer): Promise<Transfer[]> {
    const found = await findTransaction(peer, hash);
    return found === null ? [] : transfersOf(found.movement, found.block, watch);
  }
  if (nodes.quorum === 1) return await nodes.ask(find);
  const { heard } = await nodes.hear(find);
  const told = new Map<string, Transfer>();
  for (const one of heard.flatMap(({ answer }) => answer)) {
    const key = `${one.index} ${one.to} ${one.contract}`;
    if (told.size < TOLD_MAX && !told.has(key)) told.set(key, one);
  }
  const found: Transfer[] = [];
  for (const one of told.values()) {
    try {
      const checked = await recheck(solana, one);
      if (checked !== null) found.push(checked.transfer);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      found.push({ ...one, from: null });
    }
  }
  return found;
}
