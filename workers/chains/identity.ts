/**
 * The network that a chain's nodes belong to: each is asked before it is believed, and all must be of the same one.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { IdentityWitnesses, Peer } from "./peer.ts";
import { agreedGroupOf, groupsOf, hearAll, type Heard, unconfirmed } from "./quorum.ts";

/** Which network the nodes of a chain were found to be of, where it outlives the process. */
export interface KeptIdentity {
  /** Gives the id that is kept; null: none is. */
  read(): Promise<string | null>;
  /** Keeps an id, unless one is kept. Gives the id that is kept then: another process may have been first. */
  keep(id: string): Promise<string>;
}

/** How nodes are identified. */
export interface IdentityRules {
  /** Such as `ETHEREUM main`. */
  readonly network: string;
  /** Asks a node for the id of its network. */
  readonly ask: (peer: Peer) => Promise<string>;
  /** The only id that will do; null where several do. */
  readonly only: string | null;
  /** Tells whether an id will do, where several do. */
  readonly fits: (id: string) => boolean;
  /** Where the decision is kept; null: in this process alone. */
  readonly kept?: KeptIdentity | null;
}

/** Identifies nodes. */
export interface Identity {
  /**
   * Proves that a node is of the network. Where several would do, the one that is kept counts; where none is, as many
   * nodes as the quorum decide which one it is, and it stays so until that is forgotten: a node that lies decides it for
   * no other.
   * @throws {ChainError} `wrong_chain` for a node of another network, `unavailable` while too few nodes tell theirs
   */
  readonly identify: (peer: Peer, witnesses: IdentityWitnesses) => Promise<void>;
  /** The id of the network; null while it is not decided. */
  readonly known: () => string | null;
}

/** Begins to identify the nodes of a chain. */
export function openIdentity(rules: IdentityRules): Identity {
  const { network, ask, only, fits } = rules;
  let known = only;
  let deciding: Promise<string> | null = null;
  const decided = async (witnesses: IdentityWitnesses) =>
    known ?? await (deciding ??= settle(rules, witnesses).then((first) => known ??= first)
      .finally(() => deciding = null));
  return {
    async identify(peer, witnesses) {
      const id = await ask(peer);
      if (known === null && !fits(id)) {
        throw wrongChain(peer, { id, network, must: "a test network's" });
      }
      let wanted = await decided(witnesses);
      if (id !== wanted && only === null && await isForgotten(rules, wanted)) {
        if (known === wanted) known = null;
        wanted = await decided(witnesses);
      }
      if (id === wanted) return;
      const must = only === null
        ? `${wanted}, as was decided before; networks --forget ${network} has it decided anew`
        : wanted;
      throw wrongChain(peer, { id, network, must });
    },
    known: () => known,
  };
}

/** What was decided before counts; else it is decided, and kept. */
async function settle(rules: IdentityRules, witnesses: IdentityWitnesses): Promise<string> {
  const { kept = null } = rules;
  return await kept?.read() ?? await decide(rules, witnesses).then((id) => kept?.keep(id) ?? id);
}

/** Whether an operator has had a decision forgotten, or another one is kept since; not where nobody can tell. */
async function isForgotten({ kept = null }: IdentityRules, id: string): Promise<boolean> {
  return kept !== null && await kept.read().catch(() => id) !== id;
}

/** Asks all nodes at once. Where a quorum of one leaves two networks alike, the preferred node decides. */
async function decide(
  { network, ask, fits }: IdentityRules,
  { peers, quorum }: IdentityWitnesses,
): Promise<string> {
  const agreed = (some: readonly Heard<string>[]) => agreedGroupOf(groupsOf(some, String), quorum);
  const { heard, failures } = await hearAll(peers, ask, (some) => agreed(some) !== null);
  const fitting = heard.filter(({ answer }) => fits(answer));
  const rankOf = ({ peer }: Heard<string>) => peers.findIndex(({ name }) => name === peer.name);
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
  { id, network, must }: { id: string; network: string; must: string },
): ChainError {
  const why = `${name} is of the network ${id}, for ${network} it must be ${must}`;
  return new ChainError("wrong_chain", why);
}
