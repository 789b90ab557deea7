/** Payments on Solana that are done, and whose final blocks the chain loses: they have expired, so that nobody sends them again. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { tellOtherHistory } from "../support/forked_solana.ts";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import { type Scene, sharingScene } from "../support/kept_payments.ts";
import { NodeError } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";
import { outsider } from "../support/solana_fixture.ts";

const test = sharingScene("payments on Solana that are displaced");

const nobody = () => fail("nobody is asked");

async function reasonOf({ ramp: { realm } }: Scene): Promise<string | null> {
  const [row] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
  );
  return row?.detail ?? null;
}

/** A payment that is done, and its block. */
async function payDone({ ramp }: Scene) {
  const { body: { id } } = await ramp.withdraw("5", { destination: { address: outsider() } });
  const done = await ramp.finish(id);
  equal(done.status, "DONE");
  const { hash } = done.chain;
  const [{ order, height }] = await rowsOf<{ order: string; height: number }>(
    ramp.realm,
    "select id as order, height from chain_orders where hash = $1",
    [hash],
  );
  return { id, hash, order, height };
}

/** Makes blocks, and has them scanned. */
async function follow({ ramp }: Scene): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await ramp.node.mine();
    await ramp.poller.advance();
  }
}

test("a payment on Solana that is DONE, and whose final block the chain loses, is told to its user and the operator, and so is that a block has it again", async (scene) => {
  const { ramp, faulty } = scene;
  const { realm, node } = ramp;
  const { id, hash, order, height } = await payDone(scene);
  await follow(scene);
  tellOtherHistory(node, faulty, { from: height, without: hash, mark: "22" });
  await follow(scene);
  const what = `the chain has lost ${hash}`;
  equal(await reasonOf(scene), `${what}: no transaction pays ${id}, which is done`);
  const read = await ramp.read(id);
  deepEqual([read.status, read.history.at(-1).reason], ["DONE", `${what}: no transaction pays it`]);
  await dateQuarantines(realm, 1);
  const report = { order, purpose: "withdrawal", hash, by: null };
  const [ended] = await reconcile(realm, nobody);
  deepEqual([ended.lifted, ended.obstacles, ended.displaced], [true, [], [
    { ...report, state: "displaced", unpaid: [id] },
  ]]);
  tellOtherHistory(node, faulty, { from: height, without: null, mark: "23" });
  await follow(scene);
  match(
    await reasonOf(scene) ?? "none",
    new RegExp(`has ${hash} again, which the chain had lost: it pays ${id}`),
  );
  match(
    (await ramp.read(id)).history.at(-1).reason,
    /again, which the chain had lost: it is paid by it$/,
  );
});

test("a payment on Solana whose final block the chain replaces by another that has it as well, while the slot that was scanned last has none any more, is told to nobody", async (scene) => {
  const { ramp, faulty } = scene;
  const { hash, height } = await payDone(scene);
  await follow(scene);
  const [{ scanned }] = await rowsOf<{ scanned: number }>(
    ramp.realm,
    "select height::integer as scanned from chain_cursors",
  );
  ok(scanned > height);
  await ramp.node.mine();
  // While the node lacks that block alone, those above it name it: each pass reads few.
  const read: unknown[] = [];
  faulty.trick = async ({ method, params }) => {
    if (method === "getBlocks") {
      return (await ramp.node.rpc<number[]>(method, ...params)).filter((one) => one !== scanned);
    }
    if (method !== "getBlock") return undefined;
    read.push(params[0]);
    if (params[0] !== scanned) return undefined;
    throw new NodeError(-32007, `Slot ${scanned} was skipped`);
  };
  await ramp.poller.advance();
  ok(read.includes(scanned) && read.length <= 4, `${read}`);
  const other = { from: height, skipped: scanned, without: null, mark: "22" };
  tellOtherHistory(ramp.node, faulty, other);
  for (let round = 0; round < 2; round++) await follow(scene);
  equal(await reasonOf(scene), null);
  deepEqual(await rowsOf(ramp.realm, "select hash, state, told from displaced_orders"), [
    { hash, state: "returned", told: null },
  ]);
});
