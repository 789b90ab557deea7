/**
 * Finds incoming transfers to our addresses in a range of slots, by whole blocks. The links between the
 * blocks prove that none is missing: a slot that holds none was skipped.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Consumed, Scanned, Transfer, WatchList } from "../observations.ts";
import { mergedPart, type Told } from "../scan_quorum.ts";
import { bare, finalSlot, slotsWithBlocks, VERSIONS } from "./block.ts";
import type { Solana } from "./context.ts";
import { mayConcern, readMovement, transfersOf } from "./movements.ts";
import { FINALIZED, readBlock, readKey, readSignature } from "./node_answers.ts";
import { signaturesOf } from "./payment.ts";
import { finalTransaction } from "./raw_transaction.ts";
import { recheck } from "./recheck.ts";

/** Slots of one part; a full block is about ten megabytes of JSON, and one is read at a time. */
const SLOTS_AT_ONCE = 16;

/** Asks for a block with the accounts and balances of its transactions. */
const WHOLE = {
  ...FINALIZED,
  ...VERSIONS,
  ...{ encoding: "json", transactionDetails: "accounts", rewards: false },
} as const;

/** Reads the blocks of a range, each with the transfers to the watch list. */
export async function* scanRange(
  solana: Solana,
  from: number,
  to: number,
  watch: WatchList,
): AsyncGenerator<Scanned> {
  let last: Block | null = null;
  for (let at = from; at <= to; at += SLOTS_AT_ONCE) {
    const end = Math.min(to, at + SLOTS_AT_ONCE - 1);
    for (const scanned of await readPart(solana, at, end, watch)) {
      if (last !== null && scanned.block.parentHash !== last.hash) {
        throw new ChainError("unavailable", `a block is missing below ${scanned.block.height}`);
      }
      last = scanned.block;
      yield scanned;
    }
  }
}

async function readPart(
  solana: Solana,
  from: number,
  to: number,
  watch: WatchList,
): Promise<Scanned[]> {
  const readers = {
    part: (peer: Peer) => scanPart(solana, peer, { from, to }, watch),
    logs: () => Promise.resolve([]),
    recheck: (transfer: Transfer) => recheck(solana, transfer),
  };
  return await mergedPart(solana.nodes, watch, readers, `the blocks ${from} to ${to}`);
}

/** Reads the blocks of a short range from one node. */
async function scanPart(
  solana: Solana,
  peer: Peer,
  { from, to }: { from: number; to: number },
  watch: WatchList,
): Promise<Told[]> {
  if (await finalSlot(peer) < to) {
    throw new ChainError("unavailable", `${peer.name} does not have block ${to}`);
  }
  const told: Told[] = [];
  for (const slot of await slotsWithBlocks(peer, from, to)) {
    const one = readWhole(await peer.call("getBlock", [slot, WHOLE]), slot, watch);
    if (told.length > 0 && one.block.parentHash !== told[told.length - 1].block.hash) {
      throw new ChainError("unavailable", `${peer.name} lacks a block below ${slot}`);
    }
    told.push({ ...one, proven: await provenIn(solana, peer, one.consumed) });
  }
  return told;
}

/** Reads the bytes of transactions that our keys are said to have signed: their signatures prove it. */
async function provenIn(
  { web3 }: Solana,
  peer: Peer,
  signed: readonly Consumed[],
): Promise<Set<string>> {
  const proven = new Set<string>();
  for (const { input, hash } of signed) {
    const found = await finalTransaction(peer, hash);
    const read = found === null ? null : signaturesOf(web3, found.raw);
    const address = input.slice(0, input.indexOf(":"));
    if (read?.hash === hash && read.signers.includes(address)) proven.add(`${input} ${hash}`);
  }
  return proven;
}

/** Finds the transfers of a block to watched addresses. */
export async function searchBlock(
  solana: Solana,
  height: number,
  watch: WatchList,
): Promise<Transfer[]> {
  const found: Transfer[] = [];
  for await (const { transfers } of scanRange(solana, height, height, watch)) {
    found.push(...transfers);
  }
  return found;
}

/** Reads a block with the transfers to the watch list. */
export function readWhole(answer: unknown, slot: number, watch: WatchList): Told {
  const block = readBlock(answer, slot);
  if (block === null) throw new ChainError("unavailable", `the node does not have block ${slot}`);
  const listed = readList(readRecord(answer, "a block").transactions);
  const transfers = listed.filter((one) => mayConcern(one, watch))
    .flatMap((one) => transfersOf(readMovement(one), bare(block), watch));
  const consumed = listed.flatMap((one) => signedBy(one, watch));
  return { block: bare(block), transfers, consumed, proven: new Set(), doubtful: false };
}

/** Names the watched addresses that signed a transaction; a failed one was signed too. */
function signedBy(answer: unknown, { addresses }: WatchList): Consumed[] {
  const { transaction } = readRecord(answer, "a transaction");
  const { signatures, accountKeys } = readRecord(transaction, "a transaction");
  const signers = readList(accountKeys).map((one) => readRecord(one, "an account"))
    .filter(({ pubkey, signer }) => signer === true && addresses.has(String(pubkey)));
  return signers.map(({ pubkey }) => {
    const hash = readSignature(readList(signatures)[0]);
    return { input: `${readKey(pubkey)}:${hash}`, hash };
  });
}
