/** A payment on Solana that all nodes called expired, and that is mined all the same. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { openSolanaRamp, outsider, type SolanaRamp } from "../support/solana_fixture.ts";
import type { Surfpool } from "../support/nodes/surfpool.ts";
import { rowsOf } from "../support/realm.ts";
import { reconcile } from "../support/installation.ts";
import { checkConsumed } from "../../domain/sending/quarantine.ts";

const FAR = 1_000_000_000;
const PLACE = { chain: "SOLANA", network: "main" };

/** Keeps bytes back, and calls every transaction expired if told so. */
function keepBack(node: Surfpool, faulty: FaultyNode, kept: string[], expired: boolean): void {
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

async function quarantineOf({ realm, ramp }: SolanaRamp): Promise<string | null> {
  const [row] = await rowsOf<{ detail: string | null }>(
    realm,
    "select quarantined->>'detail' as detail from ramps where account = $1",
    [ramp],
  );
  return row.detail;
}

Deno.test("a payment on Solana that was given up as expired, and is mined, puts the ramp in quarantine before it is made again", async () => {
  let faulty: FaultyNode | null = null;
  const front = (url: string) => (faulty = startFaultyNode(url)).url;
  await using ramp = await openSolanaRamp({ front });
  await using node = faulty!;
  const kept: string[] = [];
  const to = outsider();
  keepBack(ramp.node, node, kept, false);
  const { body: { id } } = await ramp.withdraw("5", { destination: { address: to } });
  await ramp.advance();
  equal(kept.length, 1);
  keepBack(ramp.node, node, kept, true);
  await ramp.advance();
  const attempts = () =>
    rowsOf<{ hash: string; proof: string | null }>(
      ramp.realm,
      "select hash, proof from order_attempts order by attempt",
    );
  const [{ hash, proof }] = await attempts();
  equal(proof, "expired");

  const input = `${ramp.address}:${hash}`;
  const seen = (few: boolean) =>
    ramp.realm.command((tx) =>
      checkConsumed(tx, ramp.context.actor, PLACE, [{ input, hash, ...few ? { few } : {} }])
    );
  equal(await seen(true), false, "one node alone, which was sent the bytes, proves nothing");
  equal(await quarantineOf(ramp), null);

  keepBack(ramp.node, node, kept, false);
  await ramp.node.sendRaw(kept[0]);
  await ramp.node.mine();
  for (let round = 0; round < 2; round++) await ramp.advance();
  const detail = await quarantineOf(ramp);
  match(detail ?? "no quarantine", /of order .* was given up as expired, and was mined/);
  ok(detail!.startsWith(hash));

  // The operator learns which transaction paid it, and says so.
  node.trick = () => undefined;
  await rowsOf(ramp.realm, `update ramps set quarantined = jsonb_set(quarantined, '{at}', '1')`);
  const asked: (string | null)[] = [];
  const [report] = await reconcile(ramp.realm, ({ like }) => {
    asked.push(like);
    return Promise.resolve(true);
  });
  deepEqual([asked, report.lifted, report.obstacles], [[hash], true, []]);
  equal((await ramp.finish(id)).status, "DONE");
  deepEqual([(await attempts()).length, await ramp.token.held(to)], [1, 5_000_000n]);
});
