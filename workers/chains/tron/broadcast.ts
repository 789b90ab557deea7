/**
 * Broadcast on Tron. The bytes travel as they are (`broadcasthex`): a node that takes them as JSON would encode them
 * anew. A node that refuses may have passed them on: a refusal is never proof.
 * @module
 */
import { broadcastToAll } from "../broadcast.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Broadcast, Obstacle, Signed } from "../outgoing.ts";
import { plain, RpcError } from "../rpc.ts";
import type { Tron } from "./context.ts";
import { askRecord, messageOf } from "./node_answers.ts";

/** Obstacles by the codes of `Return.response_code`, spelled as there. */
const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  SIGERROR: "malformed",
  TOO_BIG_TRANSACTION_ERROR: "malformed",
  BANDWITH_ERROR: "funds",
  CONTRACT_VALIDATE_ERROR: "other",
  CONTRACT_EXE_ERROR: "other",
  TAPOS_ERROR: "other",
  TRANSACTION_EXPIRATION_ERROR: "other",
  SERVER_BUSY: "silent",
  NO_CONNECTION: "silent",
  NOT_ENOUGH_EFFECTIVE_CONNECTION: "silent",
  BLOCK_UNSOLIDIFIED: "silent",
};
const LACKS_FUNDS = /balance is not sufficient|insufficient/i;

/** Sends signed bytes to all nodes. */
export async function broadcastRaw({ nodes }: Tron, signed: Signed): Promise<Broadcast> {
  return await broadcastToAll(nodes, signed, { send, readRefusal });
}

async function send(peer: Peer, raw: string): Promise<unknown> {
  const answer = await askRecord(peer, "wallet/broadcasthex", { transaction: raw });
  if (answer.result === true) return answer.txid;
  const code = typeof answer.code === "string" ? plain(answer.code) : "";
  if (code === "") throw new ChainError("unavailable", `${peer.name} answers no broadcast`);
  throw new RpcError(200, `${code}: ${messageOf(answer.message)}`);
}

/** Sorts a node's refusal, which begins with its code. */
function readRefusal(detail: string): Broadcast {
  const code = detail.split(":")[0];
  if (code === "DUP_TRANSACTION_ERROR") return { outcome: "known", obstacle: null, detail };
  const obstacle = LACKS_FUNDS.test(detail) ? "funds" : OBSTACLES[code] ?? "other";
  return { outcome: "unknown", obstacle, detail };
}
