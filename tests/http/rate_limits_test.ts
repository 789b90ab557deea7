import { deepEqual, equal, ok } from "node:assert/strict";
import { type Answer, type Send, type TestRealm, testRealm } from "../support/realm.ts";
import type { TierName } from "../support/new_realm.ts";
import { openLimits } from "../../routes/http/rate_limits.ts";
import { until } from "../support/eventually.ts";
import { serializable } from "../../db/transaction.ts";

/** Months of credits are counted by a clock that is in the middle of one: else one may end within a test. */
const MONTH = new Date().toISOString().slice(0, 7);
const SHIFT_MS = Date.parse(`${MONTH}-15`) - Date.now();

async function countMidMonth(
  { services }: Pick<TestRealm, "services">,
  now = () => Date.now() + SHIFT_MS,
): Promise<void> {
  const { platform, log } = services;
  await services.limits.close();
  services.limits = openLimits({ platform, log, now });
}

/** A realm of a tier. */
async function limitedRealm(tier?: TierName): Promise<TestRealm> {
  const realm = await testRealm({ tier });
  await countMidMonth(realm);
  return realm;
}

/** Another process that counts for the same realm. */
async function anotherOf(realm: TestRealm): Promise<ReturnType<TestRealm["another"]>> {
  const other = realm.another();
  await countMidMonth(other);
  return other;
}

const left = ({ headers }: Answer) => Number(headers.get("x-credits-remaining"));
const me = (send: Send) => send("GET", "/v1/auth/me");

async function usedOf(realm: TestRealm): Promise<number> {
  const [row] = await realm.services.platform.sql<{ credits: string }[]>`
    select credits from usage where realm = ${realm.id}`;
  return Number(row?.credits ?? 0);
}

Deno.test("every answer to a key of a realm states the rest of the limits", async () => {
  await using realm = await limitedRealm("pro");
  const read = await me(realm.admin.send);
  deepEqual(
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-credits-remaining"]
      .map((name) => read.headers.get(name)),
    ["100", "99", "1", "1999999"],
  );
  const written = await realm.admin.send("POST", "/v1/identities", {});
  equal(left(written), 1_999_997);
  const refused = await realm.admin.send("GET", "/v1/auth/me?x=1");
  deepEqual([refused.status, left(refused)], [400, 1_999_996]);
  const path = `/v1/realms/${realm.id}/credits/available`;
  const available = await realm.admin.send("GET", path);
  deepEqual(available.body, { credits: 1_999_996 });
  deepEqual((await realm.operator("GET", path)).body, { credits: 1_999_996 });
  const login = await realm.nobody("POST", "/v1/auth/login", {
    realm_key: realm.made.realm.realm_key,
    username: "admin@test.example",
    password: "correct horse battery",
  }, { "x-api-key": realm.made.applicationKey });
  equal(left(login), 1_999_994);
  await using other = await limitedRealm();
  const foreign = await other.admin.send("GET", path);
  deepEqual([foreign.status, foreign.body.code], [404, "realm.not_found"]);
});

Deno.test("a realm without limits says so, and nothing is counted or written", async () => {
  await using realm = await limitedRealm();
  const answer = await me(realm.admin.send);
  equal(left(answer), 999_999_999_999_999);
  equal(answer.headers.get("ratelimit-reset"), "0");
  await realm.services.limits.flush();
  equal(await usedOf(realm), 0);
  const { body } = await realm.admin.send("GET", `/v1/realms/${realm.id}/credits/available`);
  deepEqual(body, { credits: 999_999_999_999_999 });
});

Deno.test("more requests in a second than the tier has are 429, with the time to wait", async () => {
  await using realm = await limitedRealm("free");
  let at = Date.now() + SHIFT_MS; // stands still: what comes back meanwhile lets others pass
  await countMidMonth(realm, () => at);
  const answers = await Promise.all(Array.from({ length: 12 }, () => me(realm.admin.send)));
  const limited = answers.filter((answer) => answer.status === 429);
  equal(limited.length, 7, "five have what the second gives");
  for (const { body, headers } of limited) {
    equal(body.code, "rate.limited");
    equal(headers.get("retry-after"), "1");
    equal(headers.get("ratelimit-remaining"), "0");
    equal(headers.get("ratelimit-limit"), "5");
  }
  at += 1000;
  equal((await me(realm.admin.send)).status, 200);
});

Deno.test("when the month's credits are used every request is 402, but for looking them up", async () => {
  await using realm = await limitedRealm("basic");
  await realm.services.platform.sql`
    insert into usage (realm, month, credits)
    values (${realm.id}, ${`${MONTH}-01`}::text::date, 249997)`;
  const one = await realm.admin.send("POST", "/v1/identities", {});
  deepEqual([one.status, left(one)], [201, 1]);
  const two = await realm.admin.send("POST", "/v1/identities", {});
  deepEqual([two.status, two.body.code, left(two)], [402, "credits.exhausted", 1]);
  equal((await me(realm.admin.send)).status, 200);
  const last = await me(realm.admin.send);
  deepEqual([last.status, last.body.code, left(last)], [402, "credits.exhausted", 0]);
  const path = `/v1/realms/${realm.id}/credits/available`;
  deepEqual((await realm.admin.send("GET", path)).body, { credits: 0 });
  // The operator gives the realm another tier, and everyone learns of it.
  await realm.operator("PATCH", `/v1/realms/${realm.id}`, { tier: "pro" });
  equal((await me(realm.admin.send)).status, 200);
});

Deno.test("usage is added up within a second without a write per request, and survives", async () => {
  await using realm = await limitedRealm("pro");
  for (let i = 0; i < 20; i++) equal((await me(realm.admin.send)).status, 200);
  await until(async () => await usedOf(realm) >= 20);
  await using other = await anotherOf(realm);
  const { body } = await other.send(realm.admin.key)(
    "GET",
    `/v1/realms/${realm.id}/credits/available`,
  );
  deepEqual(body, { credits: 1_999_980 });
});

Deno.test("several processes share one rate and one account of credits", async () => {
  await using realm = await limitedRealm("basic");
  await using one = await anotherOf(realm);
  await using two = await anotherOf(realm);
  const senders = [one, two].map((process) => process.send(realm.admin.key));
  const start = Date.now();
  let [asked, passed] = [0, 0];
  while (Date.now() - start < 5000) {
    const answers = await Promise.all(senders.flatMap((send) => [1, 2, 3, 4].map(() => me(send))));
    asked += answers.length;
    passed += answers.filter((answer) => answer.status === 200).length;
    await Promise.all([one, two].map((process) => process.services.limits.flush()));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  const seconds = (Date.now() - start) / 1000;
  // One bucket each before they know of each other, then one rate; unshared it would be 50 a second.
  // Each round tells what it used, so that no late timer lets more through.
  ok(passed <= 25 * seconds + 60, `${passed} in ${seconds} s`);
  ok(passed >= Math.min(asked, 25 * seconds) * 0.6, `${passed} of ${asked} in ${seconds} s`);
  await Promise.all([one, two].map((process) => process.services.limits.flush()));
  equal(await usedOf(realm), passed);
});

Deno.test("customers leave requests of a second, and credits of the month, to those who work for the realm", async () => {
  await using realm = await limitedRealm("free");
  const customer = await realm.user();
  const flood = await Promise.all(Array.from({ length: 60 }, () => me(customer.send)));
  ok(flood.some(({ status }) => status === 429));
  equal((await me(realm.admin.send)).status, 200, "beside a flood");
  await realm.services.limits.flush();
  await realm.services.platform.sql`
    update usage set credits = 8990 where realm = ${realm.id} and month = ${`${MONTH}-01`}::text::date`;
  await until(async () => {
    const answer = await me(customer.send);
    const { status, body } = answer;
    if (status === 402) equal(left(answer), 0, "what a customer is told is what it can use");
    await realm.services.limits.flush(); // reads what the table has
    return status === 402 && body.code === "credits.exhausted";
  });
  const { status, headers } = await me(realm.admin.send);
  equal(status, 200);
  ok(Number(headers.get("x-credits-remaining")) > 900);
});

Deno.test("a search that keeps the database busy costs credits by its time, also where it is given up", async () => {
  await using realm = await limitedRealm("pro");
  const search = (limit: string) =>
    realm.admin.send("GET", `/v1/identities/all?limit=${limit}&query={"country":"HR"}`);
  // On a busy machine one may take long: of many searches one does not.
  let [before, cost] = [2_000_000, 0];
  for (let i = 0; i < 20 && cost !== 1; i++) {
    const rest = left(await search("1"));
    [before, cost] = [rest, before - rest];
  }
  equal(cost, 1, "a quick one costs a read");
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = serializable(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`lock table identities in access exclusive mode`;
    locked.resolve();
    await over.promise;
  });
  await Promise.race([held, locked.promise]);
  const given = await search("2");
  deepEqual([given.status, given.body.code], [503, "service.overloaded"]);
  const spent = () => realm.services.limits.credits(realm.services.realms.peek(realm.id)!);
  const after = await spent();
  ok(after <= before - 1 - 20, `${after}: five seconds cost 20 credits`);
  const slow = search("3");
  await until(async () => {
    const [{ waits }] = await realm.database.platform.sql<{ waits: number }[]>`
      select count(*)::integer as waits from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%identities%'
        and query_start < now() - interval '600 ms'`;
    return waits > 0;
  });
  over.resolve();
  await held;
  const answered = await slow;
  equal(answered.status, 200);
  ok(left(answered) <= after - 3, `${left(answered)}: a read, and two for more than half a second`);
  equal(left(answered), await spent());
  await realm.services.limits.flush();
  equal(await usedOf(realm), 2_000_000 - left(answered));
});

Deno.test("a batch of transfers costs the credits of one write, however many it has", async () => {
  await using realm = await limitedRealm("pro");
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const before = left(await me(realm.admin.send));
  const made = await realm.admin.send("POST", "/v1/transactions/batch", {
    atomic: true,
    transactions: Array(500).fill(move),
  });
  equal(made.status, 201, made.text.slice(0, 200));
  equal(before - left(made), 2);
});

Deno.test("searches of customers that wait while the last of their credits go cost none of those that they leave", async () => {
  await using realm = await limitedRealm("free");
  const customer = await realm.user({ role: "user", scope: "own" });
  const { limits, realms } = realm.services;
  const context = realms.peek(realm.id)!;
  const search = (isHouse: boolean) => limits.chargeWork(context, { credits: 14_400, isHouse });
  equal((await search(false))["x-credits-remaining"], "0");
  equal((await me(customer.send)).status, 402);
  const house = await me(realm.admin.send);
  deepEqual([house.status, left(house)], [200, 999]);
  // One that works for the realm has no more than there are either.
  equal((await search(true))["x-credits-remaining"], "0");
  await limits.flush();
  equal(await usedOf(realm), 10_000);
});
