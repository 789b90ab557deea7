/**
 * Broadcast on Solana. A node that refuses may have passed the bytes on, and one that accepts may lose
 * them: the same bytes are sent until their block hash is too old.
 * @module
 */
import { broadcastToAll } from "../broadcast.ts";
import type { Broadcast, Obstacle, Signed } from "../outgoing.ts";
import type { Solana } from "./context.ts";

const KNOWN = /already been processed|AlreadyProcessed/i;
const OBSTACLES: readonly (readonly [Obstacle, RegExp])[] = [
  [
    "funds",
    /insufficient (funds|lamports)|InsufficientFunds|debit an account|no record of a prior credit/i,
  ],
  [
    "malformed",
    /signature verification|invalid signature|failed to deserialize|too large|invalid base64|sanitize/i,
  ],
];
/** The node tries it, and does not send it by itself again: we do. */
const HOW = { encoding: "base64", preflightCommitment: "confirmed", maxRetries: 0 } as const;

/** Sends signed bytes to all nodes. */
export async function broadcastRaw({ nodes }: Solana, signed: Signed): Promise<Broadcast> {
  return await broadcastToAll(nodes, signed, {
    send: (peer, raw) => peer.call("sendTransaction", [raw, HOW]),
    readRefusal,
  });
}

/** Sorts a node's refusal. */
function readRefusal(message: string): Broadcast {
  if (KNOWN.test(message)) return { outcome: "known", obstacle: null, detail: message };
  const obstacle = OBSTACLES.find(([, words]) => words.test(message))?.[0] ?? "other";
  return { outcome: "unknown", obstacle, detail: message };
}
