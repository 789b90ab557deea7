/**
 * A node of Solana that tells another history from a slot on, as where validators agreed on one beyond what they called final:
 * surfpool takes no block back.
 * @module
 */
import { type FaultyNode, NodeError } from "./nodes/faulty_node.ts";
import type { Surfpool } from "./nodes/surfpool.ts";

/** What differs in the other history. */
export interface OtherHistory {
  /** The first slot whose block is another one. */
  readonly from: number;
  /** A slot that has no block in it. */
  readonly skipped?: number;
  /** A transaction that it does not have; null for none. */
  readonly without: string | null;
  /** What its hashes begin with: two histories have two. */
  readonly mark: string;
}

/** Has the node tell it. */
export function tellOtherHistory(node: Surfpool, faulty: FaultyNode, history: OtherHistory): void {
  faulty.trick = async ({ method, params }) => {
    if (method === "getBlock") return await blockOf(node, params, history);
    if (method === "getBlocks") {
      return (await node.rpc<number[]>(method, ...params)).filter((one) => one !== history.skipped);
    }
    if (history.without === null) return undefined;
    if (method === "getTransaction" && params[0] === history.without) return null;
    if (method === "getSignaturesForAddress") {
      const told = await node.rpc<{ signature: string }[]>(method, ...params);
      return told.filter(({ signature }) => signature !== history.without);
    }
    if (method !== "getSignatureStatuses") return undefined;
    const told = await node.rpc<{ value: unknown[] }>(method, ...params);
    const asked = params[0] as string[];
    return {
      ...told,
      value: told.value.map((one, at) => asked[at] === history.without ? null : one),
    };
  };
}

async function blockOf(
  node: Surfpool,
  [slot, ...how]: readonly unknown[],
  { from, without, mark, skipped }: OtherHistory,
): Promise<unknown> {
  if (slot === skipped) throw new NodeError(-32007, `Slot ${slot} was skipped`);
  const block = await node.rpc<Record<string, unknown> | null>("getBlock", slot, ...how);
  if (block === null) return null;
  const below = block.parentSlot === skipped
    ? await node.rpc<Record<string, unknown>>("getBlock", skipped, ...how)
    : block;
  const { blockhash } = block;
  const { previousBlockhash, parentSlot } = below;
  const other = (hash: unknown, at: number) =>
    at < from ? hash : mark + String(hash).slice(mark.length);
  const listed = (block.transactions ?? []) as { transaction: { signatures: string[] } }[];
  return {
    ...{ ...block, parentSlot },
    blockhash: other(blockhash, Number(slot)),
    previousBlockhash: other(previousBlockhash, Number(parentSlot)),
    ...(block.transactions === undefined ? {} : {
      transactions: listed.filter(({ transaction }) => transaction.signatures[0] !== without),
    }),
  };
}
