/**
 * The network that a chain's nodes belong to: each is asked before it is believed, and all must be of the same one.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Peer } from "./node_pool.ts";

/** How nodes are identified. */
export interface IdentityRules<Id extends string | number> {
  /** Such as `ETHEREUM main`. */
  readonly network: string;
  /** Asks a node for the id of its network. */
  readonly ask: (peer: Peer) => Promise<Id>;
  /** The only id that will do; null where several do. */
  readonly only: Id | null;
  /** Tells whether an id will do, where several do. */
  readonly fits: (id: Id) => boolean;
}

/** Identifies nodes. */
export interface Identity<Id extends string | number> {
  /** @throws {ChainError} `wrong_chain` for a node of another network */
  readonly identify: (peer: Peer) => Promise<void>;
  /** The id of the network; null before a node was identified. */
  readonly known: () => Id | null;
}

/** Begins to identify the nodes of a chain. */
export function openIdentity<Id extends string | number>(
  { network, ask, only, fits }: IdentityRules<Id>,
): Identity<Id> {
  let known: Id | null = null;
  let last = Promise.resolve();
  async function identifyAfter(earlier: Promise<void>, peer: Peer): Promise<void> {
    const id = await ask(peer);
    if (only === null && known === null) await earlier;
    const wanted = known ?? only;
    if (wanted !== null ? id !== wanted : !fits(id)) {
      const must = wanted ?? "a test network's";
      const why = `${peer.name} is of the network ${id}, for ${network} it must be ${must}`;
      throw new ChainError("wrong_chain", why);
    }
    known = id;
  }
  return {
    /** Of nodes that are asked at once, the preferred one decides which of several networks it is. */
    identify(peer) {
      const mine = identifyAfter(last, peer);
      last = mine.catch(() => {});
      return mine;
    },
    known: () => known,
  };
}
