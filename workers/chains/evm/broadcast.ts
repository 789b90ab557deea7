/**
 * Broadcast on EVM chains. Nodes word their refusals differently, and a node that refuses may have passed
 * the bytes on: a refusal is never proof.
 * @module
 */
import { broadcastToAll } from "../broadcast.ts";
import type { Broadcast, Obstacle, Signed } from "../outgoing.ts";
import type { Evm } from "./context.ts";

const KNOWN =
  /already (known|imported|exists)|known transaction|same hash was already|already in (the )?(mem)?pool/i;

// In this order: "replacement transaction underpriced" is about a price, not about a nonce.
const OBSTACLES: readonly (readonly [Obstacle, RegExp])[] = [
  [
    "underpriced",
    /underpriced|fee too low|feetoolow|less than block base fee|below (the )?min|price too low|tip.*too low|minimum needed/i,
  ],
  ["consumed", /nonce (is )?too low|oldnonce|old nonce|nonce already|invalid nonce/i],
  ["early", /nonce too high|nonce gap|noncetoohigh|too many pending|exceeds.*(limit|slots)/i],
  ["funds", /insufficient (funds|balance)|exceeds.*balance|gas \* price \+ value/i],
  [
    "malformed",
    /intrinsic gas too low|invalid (sender|signature|chain id)|rlp|decode|type not supported|invalid transaction/i,
  ],
];

/** Sends signed bytes to all nodes. */
export async function broadcastRaw({ nodes }: Evm, signed: Signed): Promise<Broadcast> {
  return await broadcastToAll(nodes, signed, {
    send: (peer, raw) => peer.call("eth_sendRawTransaction", [raw]),
    readRefusal,
  });
}

/** Sorts a node's refusal. */
export function readRefusal(message: string): Broadcast {
  const detail = message;
  if (KNOWN.test(message) && !/unknown transaction/i.test(message)) {
    return { outcome: "known", obstacle: null, detail };
  }
  const obstacle = OBSTACLES.find(([, words]) => words.test(message))?.[0] ?? "other";
  return { outcome: "unknown", obstacle, detail };
}
