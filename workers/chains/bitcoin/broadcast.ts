/**
 * Broadcast on UTXO chains. A refusal that names a consensus rule means malformed bytes; any other names
 * a node's own policy, or a state of the chain that may change. A node that refuses may have passed the
 * bytes on: a refusal is never proof.
 * @module
 */
import { broadcastToAll } from "../broadcast.ts";
import type { Broadcast, Obstacle, Signed } from "../outgoing.ts";
import type { CoinChain } from "./context.ts";

const KNOWN =
  /already[ -]in[ -](the )?(block ?chain|mempool|utxo)|txn-already-(in-mempool|known)|outputs already|already (have|known|exists)/i;

// In this order: a replacement that pays too little is underpriced, though its message also says
// "conflict".
const OBSTACLES: readonly (readonly [Obstacle, RegExp])[] = [
  [
    "underpriced",
    /insufficient (fee|priority)|rejecting replacement|(relay|mempool min|min) fee not met|min(imum)? fee|mempool full|low[ -]fee|fee too low/i,
  ],
  [
    "early",
    /too-long-mempool-chain|non-?(bip68-?)?final|premature|orphan|mempool-chain|limit-exceeds/i,
  ],
  ["consumed", /missing-?(inputs|or-?spent)|inputs-missing|missing inputs|conflict|inputs-spent/i],
];

/**
 * Consensus rules: if the message is true, no miner could mine such bytes. Older nodes put a number
 * before the message.
 */
const FORBIDDEN =
  /^(\d+: )?(bad-txns-(in-belowout|vin-empty|vout-empty|vout-negative|vout-toolarge|txouttotal-toolarge|inputs-duplicate|prevout-null|oversize|undersize|inputvalues-outofrange|fee-outofrange|fee-negative|duplicate-inputs))|^(\d+: )?mandatory-script-verify-flag-failed|tx decode failed/i;

/** Sends signed bytes to all nodes. */
export async function broadcastRaw({ nodes }: CoinChain, signed: Signed): Promise<Broadcast> {
  return await broadcastToAll(nodes, signed, {
    send: (peer, raw) => peer.call("sendrawtransaction", [raw]),
    readRefusal,
  });
}

/** Sorts a node's refusal. */
export function readRefusal(message: string): Broadcast {
  const detail = message;
  if (KNOWN.test(message)) return { outcome: "known", obstacle: null, detail };
  if (FORBIDDEN.test(message)) return { outcome: "unknown", obstacle: "malformed", detail };
  const obstacle = OBSTACLES.find(([, words]) => words.test(message))?.[0] ?? "other";
  return { outcome: "unknown", obstacle, detail };
}
