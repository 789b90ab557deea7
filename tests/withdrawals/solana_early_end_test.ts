/**
 * A node of Solana that tells a block which is not final yet as the newest one, with too early an end, and keeps the
 * bytes for itself: the payment is not made again while they can be mined.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { openSolanaRamp, outsider, type SolanaRamp } from "../support/solana_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import type { Surfpool } from "../support/nodes/surfpool.ts";

/** Calls all executed blocks final, tells an end of the newest, and takes bytes without passing them on. */
function runAhead(lying: FaultyNode, node: Surfpool, end: number): string[] {
  const kept: string[] = [];
  const ahead = (one: unknown) =>
    typeof one === "object" && one !== null && "commitment" in one
      ? { ...one, commitment: "confirmed" }
      : one;
  lying.trick = async ({ method, params }) => {
    if (method === "sendTransaction") {
      kept.push(String(params[0]));
      throw new NodeError(-32005, "it is kept");
    }
    // deno-lint-ignore no-explicit-any
    const told = await node.rpc<any>(method, ...params.map(ahead));
    if (method === "getLatestBlockhash") told.value.lastValidBlockHeight = end;
    if (method === "getBlock") told.blockHeight = end - 150;
    return told;
  };
  return kept;
}

/** Refuses some bytes, as nodes do that do not know the block which they name. */
function refuse(node: FaultyNode, bytes: readonly string[]): void {
  node.trick = ({ method, params }) => {
    if (method !== "sendTransaction" || !bytes.includes(String(params[0]))) return undefined;
    throw new NodeError(-32002, "Transaction simulation failed: Blockhash not found");
  };
}

async function attemptsOf({ realm }: SolanaRamp): Promise<{ hash: string; dropped: boolean }[]> {
  return await rowsOf(realm, "select hash, dropped from order_attempts order by attempt");
}

Deno.test("a node that has a payment on Solana end before its block is final, and sends it later, has nobody paid twice", async () => {
  const nodes: FaultyNode[] = [];
  const front = (url: string) => {
    nodes.push(...Array.from({ length: 3 }, () => startFaultyNode(url)));
    return nodes.map((one) => one.url).join(",");
  };
  await using ramp = await openSolanaRamp({ front });
  const [lying, ...honest] = nodes;
  const { node, token } = ramp;
  const height = () => node.rpc<number>("getBlockHeight", { commitment: "finalized" });
  const payer = node.payer.publicKey.toBase58();
  for (let amount = 1n; amount <= 6n; amount++) await node.pay(payer, amount);
  const end = await height() + 1;
  const kept = runAhead(lying, node, end);
  for (const one of honest) refuse(one, kept);

  const to = outsider();
  const { status, body: { id }, text } = await ramp.withdraw("5", { destination: { address: to } });
  equal(status, 201, text);
  await ramp.advance();
  equal(kept.length, 1, "it was signed and sent");
  const [first] = kept;
  while (await height() <= end) await node.settle(1);
  for (const one of honest) refuse(one, [first]);
  for (let round = 0; round < 3; round++) await ramp.advance();
  deepEqual((await attemptsOf(ramp)).map(({ dropped }) => dropped), [false]);

  ok(await node.sendRaw(first), "it can still be mined");
  equal((await ramp.finish(id)).status, "DONE");
  equal((await attemptsOf(ramp)).length, 1);
  equal(await token.held(to), 5_000_000n);
  for (const one of nodes) await one[Symbol.asyncDispose]();
});
