/**
 * Limit of deposits at linked addresses. Anybody may link a stranger's address, also the busiest one of a chain, and
 * each transfer there is a row. Beyond the limit of an account, an address that shows more is no longer watched. Own
 * addresses have no limit.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import type { SeenDeposit } from "../../db/deposits/deposits.ts";
import {
  type LinkUse,
  pauseLinks,
  selectKnownDeposits,
  selectLinkUse,
} from "../../db/deposits/linked_limits.ts";
import type { Actor } from "../actor.ts";
import { LINKED_PER_DAY } from "../chain_settings.ts";
import { emitAll } from "../events.ts";
import { idBound } from "../ids.ts";
import { transferKey } from "./incoming_transfers.ts";

const DAY_MS = 86_400_000;

/** Leaves out deposits at linked addresses beyond the limit of their account, and pauses these links. */
export async function withinLinkedLimit(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  seen: readonly SeenDeposit[],
): Promise<readonly SeenDeposit[]> {
  const max = actor.realm.linkedPerDay ?? LINKED_PER_DAY;
  const since = idBound(actor.at - DAY_MS);
  const addresses = [...new Set(seen.map(({ address }) => address))];
  const uses = await selectLinkUse(tx, place, { addresses, since, max });
  if (uses.length === 0) return seen;
  const links = new Map(uses.map((use) => [use.address, use]));
  const recorded = new Map(uses.map((use) => [use.account, use.recorded]));
  const isLinked = ({ address, account }: SeenDeposit) => links.get(address)?.account === account;
  const linked = seen.filter(isLinked);
  const full = uses.some(({ paused, account }) =>
    paused || recorded.get(account)! + countOf(linked, account) > max
  );
  if (!full) return seen;
  // Recorded ones are never left out: a reorganisation may move them to another block.
  const known = new Set((await selectKnownDeposits(tx, place, linked)).map(transferKey));
  const cut = new Map<string, LinkUse>();
  const kept = seen.filter((one) => {
    if (!isLinked(one) || known.has(transferKey(one))) return true;
    const link = links.get(one.address)!;
    const many = recorded.get(one.account)!;
    if (!link.paused && many < max) return recorded.set(one.account, many + 1);
    cut.set(link.address, link);
    return false;
  });
  await pause(tx, actor, place, [...cut.values()].filter(({ paused }) => !paused));
  return kept;
}

function countOf(deposits: readonly SeenDeposit[], of: string): number {
  return deposits.filter(({ account }) => account === of).length;
}

async function pause(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  links: readonly LinkUse[],
): Promise<void> {
  if (links.length === 0) return;
  await pauseLinks(tx, links.map(({ id }) => id), actor.at);
  const { chain, network } = place;
  const limit = actor.realm.linkedPerDay ?? LINKED_PER_DAY;
  await emitAll(
    tx,
    actor,
    "address.paused",
    links.map(({ account, owner, address }) => ({
      ...{ id: account, owner },
      view: { account, address, chain, network, limit, at: actor.at },
    })),
  );
}
