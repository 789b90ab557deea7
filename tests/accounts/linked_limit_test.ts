/** Limit of deposits at linked addresses: a link to a busy address stops, and nothing of ours is missed. */
import { deepEqual, equal } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestUser } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const BUSY = rich(3).address;
const QUIET = rich(4).address;

async function recordedAt({ realm }: RampFixture, address: string): Promise<number> {
  const [{ n }] = await rowsOf<{ n: number }>(
    realm,
    "select count(*)::integer as n from deposits where address = $1",
    [address],
  );
  return n;
}

/** A customer's account on a ramp, with addresses linked to it. */
async function link(
  { realm }: RampFixture,
  user: TestUser,
  { ramp, addresses }: { ramp: string; addresses: string[] },
): Promise<string> {
  const of = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const more = { owner: user.id, holder: user.identity };
  const made = await realm.admin.send("POST", "/v1/accounts", { ...of, ...more });
  equal(made.status, 201, made.text);
  await realm.drain();
  for (const address of addresses) {
    const answer = await user.send("POST", `/v1/accounts/${made.body.id}/assign/${address}`);
    deepEqual([answer.status, answer.body], [200, { address, currency: "ETH" }]);
  }
  return made.body.id;
}

Deno.test("a link to an address with more deposits than a day records stops, says so, and is begun anew", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil, mine } = fixture;
  const operator = `/v1/realms/${realm.id}`;
  const tooMany = await realm.admin.send("PATCH", operator, {
    chains: { linked_deposits_per_day: 0 },
  });
  deepEqual([tooMany.status, tooMany.body.code], [400, "request.invalid"]);
  const set = await realm.admin.send("PATCH", operator, { chains: { linked_deposits_per_day: 3 } });
  equal(set.status, 200, set.text);
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  const user = await realm.user({ role: "user", scope: "own" });
  const account = await link(fixture, user, { ramp: ramp.id, addresses: [BUSY, QUIET] });
  await realm.admin.send("GET", "/v1/events/all");
  await mine();
  for (let n = 0; n < 5; n++) {
    await anvil.pool({ from: 5, to: BUSY, value: ETHER });
    await anvil.pool({ from: 6, to: deposit.address, value: ETHER });
  }
  await mine();
  equal(await recordedAt(fixture, BUSY), 3);
  equal(await recordedAt(fixture, deposit.address), 5, "own addresses have no limit");
  const list = async () => (await user.send("GET", `/v1/accounts/${account}/assign`)).body;
  const [busy, quiet] = await list();
  deepEqual([busy.address, typeof busy.paused_at, quiet], [BUSY, "number", {
    address: QUIET,
    currency: "ETH",
  }]);
  const told = await rowsOf<{ payload: Record<string, unknown> }>(
    realm,
    "select payload from events where type = 'address.paused'",
  );
  const { at: _, ...view } = told[0].payload;
  equal(told.length, 1);
  deepEqual(view, { account, address: BUSY, chain: "ETHEREUM", network: "testnet", limit: 3 });
  // What was recorded is credited, whatever the link is now.
  await mineUntil(
    fixture,
    async () => (await fixture.account(account)).balance.linked === "3",
  );
  await anvil.pool({ from: 5, to: BUSY, value: ETHER });
  await mine(2);
  equal(await recordedAt(fixture, BUSY), 3, "it is watched no more");
  const path = `/v1/accounts/${account}/assign/${BUSY}`;
  equal((await user.send("DELETE", path)).status, 200);
  equal((await user.send("POST", path)).status, 200);
  await anvil.pool({ from: 5, to: BUSY, value: ETHER });
  await mine(2);
  equal(await recordedAt(fixture, BUSY), 3, "the day is not over");
  // A day later.
  await rowsOf(
    realm,
    `update deposits set id = (lpad(to_hex(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint
      - 90000000), 12, '0') || right(replace(id::text, '-', ''), 20))::uuid where address = $1`,
    [BUSY],
  );
  equal((await user.send("DELETE", path)).status, 200);
  equal((await user.send("POST", path)).status, 200);
  await anvil.pool({ from: 5, to: BUSY, value: ETHER });
  await mineUntil(fixture, async () => await recordedAt(fixture, BUSY) === 4);
  deepEqual((await list()).map((one: { paused_at?: number }) => one.paused_at), [
    undefined,
    undefined,
  ]);
});
