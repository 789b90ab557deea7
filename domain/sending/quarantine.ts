/**
 * Quarantine: state of a ramp whose chain shows a transaction that only our own keys can have made,
 * and that the database does not know. Either the database is older than the chain, or another one has
 * the same keys. Nothing is signed for the ramp and no address handed out until it is reconciled.
 * Deposits are still credited, but transfers that our own addresses sent, and all to the ramp's own address, are held.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { selectUnmatchedLike } from "../../db/recovery/found_payments.ts";
import { selectOwnTransactions } from "../../db/deposits/deposits.ts";
import {
  doubtTransfers,
  holdEarlierReceipts,
  holdOwnReceipts,
  holdTransactions,
  quarantineRamps,
  renewQuarantines,
  selectOwnSenders,
  selectStolenCoins,
  selectStolenNonces,
} from "../../db/sending/quarantine.ts";
import { releaseLateAttempt, selectMinedLate } from "../../db/sending/late_attempts.ts";
import { selectGivenUp } from "../../db/sending/unsent_bytes.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, tokenByContract } from "../assets.ts";
import { emitAll } from "../events.ts";
import type { SeenTransfer } from "../chains/observed_transfers.ts";

/** The error code of a quarantine. */
export const QUARANTINED = "chain.quarantined";

/** One transaction that only our keys can have made. */
interface Evidence {
  ramp: string;
  hash: string;
  detail: string;
}

/**
 * Puts ramps into quarantine, and emits events; null for all of them, which begins that of all anew. Gives
 * those that were not in it.
 *
 * @param goesOn whether the quarantine of those that are in it goes on
 */
export async function quarantine(
  tx: Tx,
  actor: Actor,
  ramps: readonly string[] | null,
  detail: string,
  goesOn = ramps !== null,
): Promise<string[]> {
  if (!goesOn) await renewQuarantines(tx, actor.at);
  const news = await quarantineRamps(tx, ramps, { detail, at: actor.at });
  if (ramps === null) await doubtTransfers(tx);
  if (ramps === null || news.length > 0) await holdEarlierReceipts(tx);
  const told = news.map((id) => ({
    ...{ id, owner: null, view: { id, code: QUARANTINED, detail, at: actor.at } },
  }));
  await emitAll(tx, actor, QUARANTINED, told);
  return news;
}

/**
 * Puts the ramp of an order into quarantine whose own transactions can never be mined, where one was found
 * that paid the same, and that nobody is known to have ordered; or where bytes of ours took its place that were
 * given up here and never sent, so that a newer database, or another, has sent them. Only an operator can tell
 * whether that was its payment. So it does where it was mined late, and has lost its final block: it is given back to the
 * order that had given it up.
 *
 * @returns the reason; null where there is no such transaction
 */
export async function doubtRestart(
  tx: Tx,
  actor: Actor,
  order: NetworkKey & { id: string; ramp: string; hash: string | null },
  { by }: { by: string | null },
): Promise<string | null> {
  const { id, chain, network } = order;
  if (await releaseLateAttempt(tx, id)) {
    const lost = `${order.hash} was mined after it had been given up, and has lost its block`;
    await quarantine(tx, actor, [order.ramp], lost);
    return lost;
  }
  const [like] = await selectUnmatchedLike(tx, id);
  const givenUp = await selectGivenUp(tx, { id, chain, network, by });
  if (like === undefined && givenUp === null) return null;
  const detail = like === undefined
    ? `${givenUp}, which was given up here and never sent, took the place of order ${id}: bytes` +
      " of that order that were given up may be mined with it"
    : `no transaction of withdrawal ${like.withdrawal} can be mined, and ${like.hash}, which` +
      " was found on the chain, paid the same";
  await quarantine(tx, actor, [order.ramp], detail);
  return detail;
}

/**
 * Searches spends of own coins and nonces in chain blocks for unknown transactions, and for those that were given up:
 * what was mined all the same may be paid again, or was given back. Tells whether there are any. Bytes that were given
 * up may be known to nodes: for those the word of the quorum counts.
 */
export async function checkConsumed(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  consumed: readonly { input: string; hash: string; few?: boolean }[],
): Promise<boolean> {
  if (consumed.length === 0) return false;
  const coins = await selectStolenCoins(tx, place, consumed);
  const nonces = await selectStolenNonces(tx, place, consumed);
  const agreed = consumed.filter(({ few }) => !few);
  const late = agreed.length === 0 ? [] : await selectMinedLate(tx, place, agreed);
  const evidence = [
    ...coins.map(({ input, hash, ramp }) => ({
      ramp,
      hash,
      detail: `${hash} spent our coin ${input}, and nothing here knows of it`,
    })),
    ...nonces.map(({ input, hash, ramp }) => ({
      ramp,
      hash,
      detail: input.endsWith(`:${hash}`)
        ? `our key of ${
          input.slice(0, input.indexOf(":"))
        } signed ${hash}, and nothing here knows of it`
        : `${hash} used our nonce ${input}, and nothing here knows of it`,
    })),
    ...late.map(({ hash, order, ramp }) => ({
      ramp,
      hash,
      detail: `${hash} of order ${order} was given up, and was mined`,
    })),
  ];
  await act(tx, actor, place, evidence);
  return evidence.length > 0;
}

/**
 * Searches incoming transfers for those that an own address sent in an unknown transaction. Only
 * transfers that need a signature of ours count: coins of the transaction itself, and tokens of the
 * registry, whose contracts do not lie.
 */
export async function checkSenders(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  transfers: readonly SeenTransfer[],
): Promise<void> {
  await holdOwnReceipts(tx, place, transfers.map(({ hash }) => hash));
  const signed = transfers.filter((one) => one.from !== null && isSigned(place, one));
  if (signed.length === 0) return;
  const own = new Map(
    (await selectOwnSenders(tx, place, signed.map((one) => one.from!)))
      .map(({ address, ramp }) => [address, ramp]),
  );
  const ours = signed.filter((one) => own.has(one.from!));
  if (ours.length === 0) return;
  const known = new Set(
    (await selectOwnTransactions(tx, place, ours.map((one) => one.hash))).map(({ hash }) => hash),
  );
  const evidence = ours.filter((one) => !known.has(one.hash)).map((one) => ({
    ramp: own.get(one.from!)!,
    hash: one.hash,
    detail: `our address ${one.from} sent ${one.hash}, and nothing here knows of it`,
  }));
  await act(tx, actor, place, evidence);
}

/**
 * A contract makes internal calls, and a foreign token may log anything, so neither proves a
 * signature.
 */
function isSigned(place: NetworkKey, { contract, index }: SeenTransfer): boolean {
  if (contract === null) return index === -1;
  return place.network === "main" && tokenByContract(place.chain as ChainId, contract) !== null;
}

async function act(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  evidence: readonly Evidence[],
): Promise<void> {
  // The first evidence against a ramp puts it there.
  for (const [ramp, [{ detail }]] of Map.groupBy(evidence, (one) => one.ramp)) {
    await quarantine(tx, actor, [ramp], detail);
  }
  const hashes = evidence.map(({ hash }) => hash);
  if (hashes.length === 0) return;
  const why = "our own keys sent it, and nothing here knows of it: it waits for `reconcile`";
  await holdTransactions(tx, place, hashes, why);
}
