/**
 * Sends signed bytes to every node of a chain and combines their answers. A node that refuses
 * may have passed the bytes on: a refusal never proves that a transaction will not be mined.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node_pool.ts";
import type { Broadcast, Signed } from "./outgoing.ts";
import { hearAll } from "./quorum.ts";
import { RpcError } from "./rpc.ts";

/** How nodes of a chain family take signed bytes. */
export interface BroadcastRules {
  /** Sends the bytes to one node, which answers with the transaction's id. */
  send(peer: Peer, raw: string): Promise<unknown>;
  /** Sorts the message of a refusal. */
  readRefusal(message: string): Broadcast;
}

/**
 * Sends signed bytes to all nodes at once; after the first acceptance the rest get only a short time.
 * The best answer counts: accepted, then known, then a refusal of any kind but `malformed`.
 */
export async function broadcastToAll(
  nodes: Pick<Nodes, "peers">,
  signed: Signed,
  rules: BroadcastRules,
): Promise<Broadcast> {
  const { heard } = await hearAll(
    nodes.peers,
    (peer) => sendTo(peer, signed, rules),
    (some) => some.some(({ answer: { outcome } }) => outcome !== "unknown"),
  );
  const answers = heard.map(({ answer }) => answer);
  const best = answers.find(({ outcome }) => outcome === "accepted") ??
    answers.find(({ outcome }) => outcome === "known") ??
    // Malformed only if every node says so.
    answers.find(({ obstacle }) => obstacle !== "malformed");
  return best ?? answers[0];
}

async function sendTo(peer: Peer, signed: Signed, rules: BroadcastRules): Promise<Broadcast> {
  try {
    const hash = await rules.send(peer, signed.raw);
    if (hash === signed.hash) return { outcome: "accepted", obstacle: null, detail: null };
    return { outcome: "unknown", obstacle: "silent", detail: `${peer.name} gave another hash` };
  } catch (error) {
    if (error instanceof RpcError) return rules.readRefusal(error.message);
    const detail = error instanceof ChainError ? error.message : "no answer";
    return { outcome: "unknown", obstacle: "silent", detail };
  }
}
