/** A payment on Solana that all nodes called expired, and that is mined all the same. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { openSolanaRamp, outsider, type SolanaRamp } from "../support/solana_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import { keepBack } from "../support/kept_payments.ts";
import { checkConsumed } from "../../domain/sending/quarantine.ts";

const PLACE = { chain: "SOLANA", network: "main" };

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
  match(detail ?? "no quarantine", /of order .* was given up, and was mined/);
  ok(detail!.startsWith(hash));

  // It is known whose payment it was: nobody is asked.
  node.trick = () => undefined;
  await dateQuarantines(ramp.realm, 1);
  const [report] = await reconcile(ramp.realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const [{ order }] = await rowsOf<{ order: string }>(
    ramp.realm,
    "select order_id as order from order_attempts",
  );
  deepEqual(report.taken, [{
    hash,
    purpose: "recovered",
    paid: [order],
    unmatched: [],
    late: order,
  }]);
  const done = await ramp.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", hash]);
  deepEqual([(await attempts()).length, await ramp.token.held(to)], [1, 5_000_000n]);
});
