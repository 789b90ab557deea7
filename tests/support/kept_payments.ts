/** A node of Solana that keeps payments back, and calls them expired. @module */
import { type FaultyNode, NodeError } from "./nodes/faulty_node.ts";
import type { Surfpool } from "./nodes/surfpool.ts";

const FAR = 1_000_000_000;

/** Keeps bytes back, and calls every transaction expired if told so. */
export function keepBack(
  node: Surfpool,
  faulty: FaultyNode,
  kept: string[],
  expired: boolean,
): void {
  faulty.trick = async ({ method, params }) => {
    if (method === "sendTransaction") {
      if (!kept.includes(String(params[0]))) kept.push(String(params[0]));
      throw new NodeError(-32005, "the bytes are kept");
    }
    if (!expired) return undefined;
    if (method === "getBlock") {
      return { ...await node.rpc<object>(method, ...params), blockHeight: FAR };
    }
    if (method === "isBlockhashValid") return { context: { slot: FAR }, value: false };
    return undefined;
  };
}

/** Calls every transaction expired, and hides those that are in blocks from questions about their status. */
export function hideMined(node: Surfpool, faulty: FaultyNode): void {
  keepBack(node, faulty, [], true);
  const { trick } = faulty;
  faulty.trick = async (question) => {
    const { method, params } = question;
    if (method !== "getSignatureStatuses") return await trick(question);
    const told = await node.rpc<{ value: unknown[] }>(method, ...params);
    return { ...told, value: told.value.map(() => null) };
  };
}
