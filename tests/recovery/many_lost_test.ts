/** Many payments that are done, and whose blocks the chain may have lost: which of them nodes are asked about, and when. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { takeDisplacedDue } from "../../db/recovery/displaced_orders.ts";
import { asSuperuser } from "../support/database.ts";
import {
  cancelStored,
  depthOf,
  mineInstead,
  payDone,
  resent,
  sharingLosingRamp,
  toldOf,
} from "../support/lost_coins.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { head } from "../support/nodes/tron/ledger.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";
import { COIN } from "../support/utxo_fixture.ts";

const test = sharingLosingRamp("many UTXO payments that are lost", !hasLitecoind());

/** Most that a pass asks about. */
const A_PASS = 20;
/** More blocks than a reorganisation is followed. */
const FAR = 1100;

/** Runs statements in the realm's schema without its triggers. */
async function plant(realm: TestRealm, statement: string): Promise<void> {
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  await asSuperuser(`set session_replication_role = replica; set search_path = ${schema};
    ${statement}; reset search_path; set session_replication_role = origin`);
}

/** Payments that are made at once, done and scanned. */
async function paidDone(ramped: TronRamp, count: number) {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) {
    ids.push((await ramped.withdraw(newTronParty().address, "5")).body.id);
  }
  for (const id of ids) equal((await ramped.ended(id)).status, "DONE");
  await ramped.follow();
  return await rowsOf<{ id: string; hash: string; height: number }>(
    ramped.realm,
    "select reference_id as id, hash, height from chain_orders where purpose = 'withdrawal' order by id",
  );
}

test("LTC: a payment whose coin another transaction spent is told, though nodes do not tell of as many older ones as a pass asks about", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm } = funded;
  const late = await cancelStored(funded, "1");
  const done = await payDone(funded, "2");
  await plant(
    realm,
    `insert into coins (chain, network, hash, index, address, ramp, amount, height, spent_by, spent_height, kept, created_at)
      select chain, network, 'older', g, address, ramp, 1, 1, 'other', 1, 'none' || g, now()
      from coins cross join generate_series(1, ${2 * A_PASS}) g where kept = '${done.hash}'`,
  );
  await mineInstead(funded, await depthOf(funded, done.hash), late.raw);
  deepEqual(await resent(funded), []);
  for (let pass = 0; pass < 2; pass++) await funded.follow();
  deepEqual((await toldOf(funded, done.id)).length, 1);
});

Deno.test("of payments on Tron that the chain has lost, those are asked about first that were asked about longest ago", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { realm } = ramped;
  const [{ hash, height }] = await paidDone(ramped, 1);
  await plant(
    realm,
    `insert into displaced_orders (hash, order_id, chain, network, ramp, done, state, since, lost_height, created_at)
      select 'lost' || g, id, chain, network, ramp, true, 'lost', 1, g, now()
      from chain_orders cross join generate_series(1, 5) g where hash = '${hash}'`,
  );
  const [place] = await rowsOf<{ chain: string; network: string }>(
    realm,
    "select chain, network from chain_cursors",
  );
  const of = { settled: height, limit: 2 };
  const asked: string[] = [];
  for (let pass = 1; pass <= 5; pass++) {
    const rows = await realm.command((tx) =>
      takeDisplacedDue(tx, place, { ...of, at: Date.UTC(2026, 0, pass) })
    );
    asked.push(...rows.map((row) => row.hash));
  }
  deepEqual(asked.slice(0, 4), ["lost1", "lost2", "lost3", "lost4"]);
  deepEqual(asked.slice(4, 6).toSorted(), ["lost1", "lost5"]);
  deepEqual([...new Set(asked)].length, 5);
  const hoursAfter = async (hours: number, minutes: number) => {
    const at = Date.now() + hours * 3_600_000 + minutes * 60_000;
    const all = { settled: height, limit: 20 };
    return (await realm.command((tx) => takeDisplacedDue(tx, place, { ...all, at }))).length;
  };
  const pauses: number[] = [];
  for (const minutes of [0, 5, 11]) pauses.push(await hoursAfter(3, minutes));
  deepEqual(pauses, [5, 0, 5], "what was lost for long is asked about each ten minutes");
});

Deno.test("after a reorganisation on Tron that is deeper than the stored blocks, nodes are asked about those payments alone that blocks do not show again, or others than before, and those are told that are lost", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { realm, node } = ramped;
  const [kept, lost] = await paidDone(ramped, 2);
  const first = Math.min(kept.height, lost.height);
  await node.mine(FAR);
  for (let pass = 0; pass < 3; pass++) await ramped.follow();
  const top = Number(head(node.ledger).number);
  await node.reorganiseFinal(top - first + 1, (id) => id !== lost.hash);
  for (let pass = 0; pass < 2; pass++) {
    await node.mine();
    await ramped.follow();
  }
  const halted = "select from chain_cursors where halted is not null";
  equal((await rowsOf(realm, halted)).length, 1);
  const range = { chain: "TRON", testnet: false, from: first, to: first };
  const answer = await realm.admin.send("POST", "/v1/deposits/rescan", range);
  equal(answer.status, 200, answer.text);
  await realm.drain();
  deepEqual(await rowsOf(realm, "select hash from displaced_orders"), [], "nobody is asked yet");
  for (let pass = 0; pass < 4; pass++) {
    await node.mine();
    await ramped.follow();
  }
  equal((await rowsOf(realm, halted)).length, 0);
  const rows = await rowsOf(realm, "select hash, state, told from displaced_orders order by state");
  deepEqual(rows, [
    { hash: lost.hash, state: "displaced", told: "displaced" },
    { hash: kept.hash, state: "returned", told: null },
  ]);
  const reason = (await ramped.withdrawal(lost.id)).history.at(-1).reason;
  equal(reason, `the chain has lost ${lost.hash}: no transaction pays it`);
  ok(!(await ramped.withdrawal(kept.id)).history.some(({ reason }: { reason?: string }) => reason));
});
