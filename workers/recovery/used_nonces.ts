/**
 * Transactions that used nonces of ours beyond those that the database knows: a newer one signed them, and
 * blocks are searched for them.
 * @module
 */
import {
  type KnownSender,
  selectKnownHashes,
  selectSenders,
  selectSignedInputs,
  selectUnsignedInputs,
} from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { Chain } from "../chains/chain.ts";
import type { NonceCounter } from "../chains/nonces.ts";
import type { WorkerContext } from "../worker_context.ts";

const NONCES_AT_ONCE = 16;

/** Where nonces are searched. */
export interface NonceSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
  /** First block that is read. */
  readonly from: number;
}

/** The transactions of used nonces that the database does not know, and the nonces after them. */
export interface UsedNonces {
  /** Oldest first. */
  found: { hash: string; height: number }[];
  /** Senders all of whose transactions were found, each with its next nonce. */
  raises: { address: string; next: number }[];
}

/** Finds the transactions of used nonces that the database does not know. */
export async function usedNonces(
  work: NonceSearch,
  nonces: NonceCounter,
  { ramps, obstacles }: { ramps: readonly string[]; obstacles: string[] },
): Promise<UsedNonces> {
  const { context, chain, place, from } = work;
  const senders = await reading(context.pool, (db) => selectSenders(db, place, ramps));
  const inputs = new Set(
    await reading(context.pool, (db) => selectUnsignedInputs(db, place, ramps)),
  );
  const signed = await reading(context.pool, (db) => selectSignedInputs(db, place, ramps));
  const missing = new Map<string, string>();
  const raises: UsedNonces["raises"] = [];
  for (let at = 0; at < senders.length; at += NONCES_AT_ONCE) {
    const some = senders.slice(at, at + NONCES_AT_ONCE);
    const told = await Promise.all(some.map(({ address }) => nonces.count(address)));
    for (const [step, sender] of some.entries()) {
      const used = signed.filter((input) => isBelow(input, sender.address, told[step].mined));
      for (const input of used) inputs.add(input); // by the signed bytes, or by what replaced them
      noteNonces(sender, told[step], { inputs, missing, raises, obstacles });
    }
  }
  if (inputs.size === 0) return { found: [], raises };
  const head = await chain.head();
  const found: { hash: string; height: number }[] = [];
  const watch = { addresses: new Set<string>(), inputs, contracts: new Set<string>() };
  for await (const { block, consumed } of chain.scan(from, head.height, watch)) {
    for (const { input, hash } of consumed) {
      missing.delete(input);
      found.push({ hash, height: block.height });
    }
  }
  for (const input of missing.keys()) {
    obstacles.push(
      `no block from ${from} on shows the transaction that used ${input}: read more with --back`,
    );
  }
  const lacking = new Set(missing.values());
  const hashes = found.map(({ hash }) => hash);
  const known = new Set(await reading(context.pool, (db) => selectKnownHashes(db, hashes)));
  return {
    found: found.filter(({ hash }) => !known.has(hash)),
    raises: raises.filter(({ address }) => !lacking.has(address)),
  };
}

function isBelow(input: string, address: string, nonce: number): boolean {
  const [of, used] = input.split(":");
  return of === address && Number(used) < nonce;
}

function noteNonces(
  { address, next }: KnownSender,
  told: { mined: number; pooled: number },
  of: {
    inputs: Set<string>;
    missing: Map<string, string>;
    raises: UsedNonces["raises"];
    obstacles: string[];
  },
): void {
  for (let nonce = next; nonce < told.mined; nonce++) {
    of.inputs.add(`${address}:${nonce}`);
    of.missing.set(`${address}:${nonce}`, address);
  }
  const waiting = told.pooled - Math.max(told.mined, next);
  if (waiting > 0) {
    of.obstacles.push(
      `${waiting} transaction(s) of ${address} wait to be mined: run it again then`,
    );
  } else if (told.mined > next) of.raises.push({ address, next: told.mined });
}
