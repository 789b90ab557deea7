/**
 * The network that a chain's nodes belong to: each is asked before it is believed, and all must be of the same one.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { IdentityWitnesses, Peer } from "./peer.ts";
import { agreedGroupOf, groupsOf, hearAll, type Heard, unconfirmed } from "./quorum.ts";

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
  /**
   * Proves that a node is of the network. Where several would do, as many nodes as the quorum decide which one it is,
   * and it stays so: a node that lies decides it for no other.
   * @throws {ChainError} `wrong_chain` for a node of another network, `unavailable` while too few nodes tell theirs
   */
  readonly identify: (peer: Peer, witnesses: IdentityWitnesses) => Promise<void>;
  /** The id of the network; null while it is not decided. */
  readonly known: () => Id | null;
}

/** Begins to identify the nodes of a chain. */
export function openIdentity<Id extends string | number>(
  rules: IdentityRules<Id>,
): Identity<Id> {
  const { network, ask, only, fits } = rules;
  let known = only;
  let deciding: Promise<Id> | null = null;
  return {
    async identify(peer, witnesses) {
      const id = await ask(peer);
      if (known === null && !fits(id)) {
        throw wrongChain(peer, { id, network, must: "a test network's" });
      }
      const wanted = known ??
        await (deciding ??= decide(rules, witnesses).then((first) => known ??= first)
          .finally(() => deciding = null));
      if (id !== wanted) throw wrongChain(peer, { id, network, must: wanted });
    },
    known: () => known,
  };
}

/** Asks all nodes at once. Where a quorum of one leaves two networks alike, the preferred node decides. */
async function decide<Id extends string | number>(
  { network, ask, fits }: IdentityRules<Id>,
  { peers, quorum }: IdentityWitnesses,
): Promise<Id> {
  const agreed = (some: readonly Heard<Id>[]) => agreedGroupOf(groupsOf(some, String), quorum);
  const { heard, failures } = await hearAll(peers, ask, (some) => agreed(some) !== null);
  const fitting = heard.filter(({ answer }) => fits(answer));
  const rankOf = ({ peer }: Heard<Id>) => peers.findIndex(({ name }) => name === peer.name);
  const [first] = fitting.toSorted((one, other) => rankOf(one) - rankOf(other));
  const group = agreed(fitting) ?? (quorum === 1 && first !== undefined ? [first] : null);
  if (group !== null) return group[0].answer;
  const groups = groupsOf(fitting, String);
  const count = { confirm: groups[0]?.length ?? 0, nodes: peers.length, quorum };
  const told = heard.map(({ peer, answer }) => `${peer.name} is of ${answer}`);
  throw unconfirmed(count, `which network ${network} is`, [...told, ...failures]);
}

function wrongChain(
  { name }: Peer,
  { id, network, must }: { id: string | number; network: string; must: string | number },
): ChainError {
  const why = `${name} is of the network ${id}, for ${network} it must be ${must}`;
  return new ChainError("wrong_chain", why);
}
