/** Payments on coin chains whose block is lost after they were done, and workers that stand still. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import type { Step } from "../../workers/sending/signing.ts";
import { COIN, type CoinDesk, LITECOIN, openCoinDesk, PLAYS } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { pay, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

Deno.test({
  name: "LTC: what a payment that is done has spent is nobody else's, also when its block is lost",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    const base = await desk.node.rpc<number>("getblockcount");
    await desk.fund(5n * COIN, 4n * COIN);
    const funded = await desk.node.rpc<number>("getblockcount");
    ok(funded > base);
    const [first, second] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
    const id = await pay(desk, first.address, "3");
    equal((await desk.ended([id]))[0].status, "DONE");
    const [{ hash }] = await rowsOf<{ hash: string }>(desk.realm, "select hash from orders");
    const kept = "select kept from coins where kept is not null";
    deepEqual(await rowsOf(desk.realm, kept), [{ kept: hash }]);
    await loseBlocks(desk, funded);
    await desk.follow();
    deepEqual(await desk.held(first.address), [], "the chain has lost it");
    const free = "select 1 from coins where kept is not null and spent_by is null";
    equal((await rowsOf(desk.realm, free)).length, 1, "its coin is unspent again");
    await desk.realm.admin.send("POST", `/v1/accounts/${desk.ramp}/unfreeze`);
    await desk.quote();
    const next = await pay(desk, second.address, "3.5");
    await desk.look();
    await desk.look();
    const claims = await rowsOf<{ claims: string[] }>(
      desk.realm,
      `select c.claims from order_candidates c join orders o on o.id = c.order_id
        where o.subject = '${next}'`,
    );
    const [{ claim }] = await rowsOf<{ claim: string }>(
      desk.realm,
      "select hash || ':' || index as claim from coins where kept is not null",
    );
    ok(claims.length > 0);
    ok(
      claims.every((one) => !one.claims.includes(claim)),
      "another payment may not take its place",
    );
    equal(await refusedBy(desk, claim, next), "coins_kept");
    await checkSolvency({ ...desk.context, actor: { ...desk.context.actor, at: Date.now() } });
    ok((await desk.node.rpc<string[]>("getrawmempool")).includes(hash), "it is sent again");
    equal((await desk.ended([next]))[0].status, "DONE");
    deepEqual(await desk.held(first.address), [3n * COIN]);
    deepEqual(await desk.held(second.address), [COIN * 7n / 2n]);
    await desk.agree();
  },
});

for (const play of PLAYS.filter(({ id }) => id === "BITCOIN_CASH" || id === "DOGECOIN")) {
  Deno.test({
    name: `${play.asset}: what was sent cannot be sped up, and nothing is charged for it`,
    ignore,
    fn: async () => {
      await using desk = await openCoinDesk(play);
      await desk.fund(90n * COIN);
      await desk.quote();
      const id = await pay(desk, (await newParty(play.id)).address, "5");
      await desk.look();
      await desk.look();
      const before = await desk.withdrawal(id);
      const sped = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
        speed: "fast",
      });
      deepEqual([sped.status, sped.body.code], [409, "withdrawal.not_cancelable"]);
      deepEqual((await desk.withdrawal(id)).fee, before.fee);
      deepEqual(await rowsOf(desk.realm, "select replace from orders"), [{ replace: false }]);
      equal((await desk.ended([id]))[0].status, "DONE");
      await desk.agree();
    },
  });
}

Deno.test({
  name:
    "LTC: a worker that stands still anywhere in a payout, while another ends it, changes nothing",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(10n * COIN, 10n * COIN);
    for (
      const step of ["drafted", "planned", "signed", "stored", "sending", "broadcast"] as const
    ) {
      await t.step(step, async () => {
        const { ids, to } = await queue(desk, LITECOIN, 3);
        if (step !== "drafted" && step !== "planned") {
          await desk.look(endOn("planned")).catch(() => {});
        }
        const first = standAt(desk, step);
        await first.reached;
        const rows = await desk.ended(ids);
        deepEqual(rows.map(({ status }) => status), ["DONE", "DONE", "DONE"]);
        first.release();
        await first.ended;
        for (const [at, address] of to.entries()) {
          deepEqual(await desk.held(address), [sizeOf(at)]);
        }
        const open =
          "select 1 from orders where state in ('new', 'planned', 'signed', 'sent', 'mined')";
        deepEqual(await rowsOf(desk.realm, open), []);
      });
    }
    await desk.agree();
  },
});

/** Takes a look that stands still at a place until it is released. */
function standAt(desk: CoinDesk, step: Step) {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const ended = desk.look(async (passed) => {
    if (passed !== step) return;
    reached.resolve();
    await gate.promise;
  }).finally(() => reached.reject(new Error(`nobody passed ${step}`)));
  return { reached: reached.promise, release: gate.resolve, ended };
}

function endOn(step: Step) {
  return (passed: Step) => {
    if (passed === step) throw new Error("far enough");
  };
}

/** Puts empty blocks in the place of all above a height; to an address of their own, so that they differ. */
async function loseBlocks({ node }: CoinDesk, above: number): Promise<void> {
  const head = await node.rpc<number>("getblockcount");
  await node.rpc("invalidateblock", await node.rpc("getblockhash", above + 1));
  const to = await node.rpc("getnewaddress");
  for (let height = above; height <= head; height++) await node.rpc("generateblock", to, []);
}

async function refusedBy(
  desk: CoinDesk,
  claim: string,
  withdrawal: string,
): Promise<string | null> {
  const statement = `insert into claims (chain, network, claim, order_id, created_at)
    select chain, network, '${claim}', id, now() from orders where subject = '${withdrawal}'`;
  return await rowsOf(desk.realm, statement).then(() => null, (error) => error.constraint_name);
}
