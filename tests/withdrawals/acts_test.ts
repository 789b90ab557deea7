/** What a withdrawal waits for, as administrators see it, and what may be done with it, as everybody does. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { startBcash } from "../support/nodes/bcash.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, queue } from "../support/pending_withdrawals.ts";
import { type Answer, PASSWORD, rowsOf, type Send } from "../support/realm.ts";
import { COIN, LITECOIN, openUtxoRamp, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("withdrawals of one ramp, and acts");

const codeOf = ({ status, body }: Answer) => [status, body.code];
const NOT_CANCELABLE = "withdrawal.not_cancelable";

/** Reads a withdrawal, whose acts must be what dry runs of the acts themselves say. */
async function read(send: Send, id: string): Promise<Answer["body"]> {
  const path = `/v1/withdrawals/${id}`;
  const { body, status, text } = await send("GET", path);
  equal(status, 200, text);
  const outcome = (dry: Answer) => dry.status === 200 ? true : dry.body.code;
  const { speed } = body.fee;
  deepEqual(body.acts, {
    cancel: outcome(await send("POST", `${path}/cancel?dry_run=true`)),
    speed_up: outcome(await send("POST", `${path}/speed-up?dry_run=true`, { speed })),
  }, text);
  return body;
}

async function stopAt(funded: FundedRamp, step: string): Promise<void> {
  await funded.advance((passed) => {
    if (passed === step) throw new Error(step);
  }).catch((error) => {
    if (error.message !== step) throw error;
  });
}

/** As if a scanner had seen one more block. */
async function seeBlock({ realm }: FundedRamp): Promise<void> {
  await rowsOf(
    realm,
    `insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
      values ('ETHEREUM', 'main', 1, '0x', 1, now(), now())
      on conflict (chain, network) do update set head = chain_cursors.head + 1`,
  );
}

test("an administrator sees what a withdrawal waits for at each step, and its acts are what the acts say", async (funded) => {
  const { send } = funded.realm.admin;
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  const created = await read(send, id);
  deepEqual(created.acts, { cancel: true, speed_up: true });
  const { since, ...order } = created.order;
  deepEqual(order, {
    ...{ state: "new", error: null, runs: 1, attempts: [], batch_order: null, ahead: 0 },
  });
  ok(Math.abs(since - Date.now()) < 60_000);
  await stopAt(funded, "planned");
  const planned = await read(send, id);
  deepEqual([planned.order.state, planned.order.attempts.length], ["planned", 1]);
  const [{ hash, fee, sent_at, outcome, dead }] = planned.order.attempts;
  deepEqual([hash, sent_at, outcome, dead], [null, null, null, false]);
  equal(fee.asset, "ETH");
  ok(fee.value > 0);
  await stopAt(funded, "stored");
  const signed = await read(send, id);
  deepEqual([signed.order.state, signed.acts.cancel], ["signed", true]);
  match(signed.order.attempts[0].hash, /^0x[0-9a-f]{64}$/);
  await funded.advance();
  const sent = await read(send, id);
  deepEqual([sent.order.state, sent.acts], ["sent", { cancel: NOT_CANCELABLE, speed_up: true }]);
  equal(sent.order.attempts[0].outcome, "accepted");
  ok(sent.order.attempts[0].sent_at >= since && sent.order.since >= since);
  const { body: { id: behind } } = await funded.withdraw("2");
  await funded.advance();
  deepEqual([(await read(send, behind)).order.ahead, (await read(send, id)).order.ahead], [1, 0]);
  equal((await send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" })).status, 200);
  equal((await read(send, id)).acts.speed_up, "rate.limited");
  await funded.advance();
  const replaced = (await read(send, id)).order.attempts;
  equal(replaced.length, 2);
  ok(replaced[1].fee.value > replaced[0].fee.value);
  await funded.anvil.mine();
  await funded.advance();
  const mined = await read(send, id);
  deepEqual([mined.order.state, mined.acts.speed_up], ["mined", NOT_CANCELABLE]);
  equal((await read(send, behind)).order.ahead, 0, "it is in a block");
  await funded.finish(id);
  const done = await read(send, id);
  deepEqual([done.order.state, done.order.ahead], ["done", 0]);
  deepEqual(done.acts, { cancel: NOT_CANCELABLE, speed_up: NOT_CANCELABLE });
  ok(done.order.since >= mined.order.since);
});

test("acts name the obstacle that an act meets: quarantine, too many, an old price, a missing right", async (funded) => {
  const { realm } = funded;
  const { send } = realm.admin;
  const { body: { id } } = await funded.withdraw("1");
  const acts = async () => (await read(send, id)).acts;
  await rowsOf(realm, "update fee_quotes set quoted_at = now() - interval '1 hour'");
  deepEqual(await acts(), { cancel: true, speed_up: "chain.stale" });
  await rowsOf(realm, "update fee_quotes set quoted_at = now()");
  await realm.command((tx) =>
    tx`update ramps set quarantined = ${tx.json({ detail: "a test", at: 1 } as never)}`
  );
  deepEqual(await acts(), { cancel: "chain.quarantined", speed_up: true });
  await realm.command((tx) => tx`update ramps set quarantined = null`);
  const reader = await realm.user({ role: "user", scope: "realm" });
  const { body: seen } = await reader.send("GET", `/v1/withdrawals/${id}`);
  deepEqual(seen.acts, { cancel: "permission.owner", speed_up: "permission.owner" });
  deepEqual(await actsOfDemoted(funded), { cancel: true, speed_up: "permission.owner" });
  await send("POST", `/v1/withdrawals/${id}/cancel`);
  for (const expected of [true, true, true, true, true, "rate.limited"]) {
    const { body: { id: next } } = await funded.withdraw("0.1");
    await stopAt(funded, "stored");
    equal((await read(send, next)).acts.cancel, expected);
    await send("POST", `/v1/withdrawals/${next}/cancel`);
    for (let round = 0; round < 4; round++) { // the nonce is filled
      await funded.advance();
      await funded.anvil.mine();
    }
    await funded.refreshBalances();
  }
});

/** Acts of who made a withdrawal, and may no longer take anything from its account. */
async function actsOfDemoted({ realm, account }: FundedRamp): Promise<unknown> {
  const { send } = realm.admin;
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const made = await manager.send("POST", "/v1/withdrawals", {
    ...{ source: { account }, destination: { address: OUTSIDE }, value: "0.1" },
  });
  equal(made.status, 201, made.text);
  const path = `/v1/users/${manager.id}`;
  const { username } = (await send("PATCH", path, { roles: "user" })).body;
  const { realm: { realm_key }, applicationKey } = realm.made;
  const login = { realm_key, username, password: PASSWORD };
  const { body } = await realm.nobody("POST", "/v1/auth/login", login, {
    "x-api-key": applicationKey,
  });
  const by: Send = (method, at, given) =>
    realm.nobody(method, at, given, { "x-api-key": body["x-api-key"] });
  const { acts } = await read(by, made.body.id);
  equal((await by("POST", `/v1/withdrawals/${made.body.id}/cancel`)).status, 200);
  return acts;
}

test("the order of a withdrawal is shown to administrators of the realm alone, and in no list", async (funded) => {
  const { realm, ramp } = funded;
  const customer = await realm.user();
  const account = { type: "virtual", asset: "ETH", ramp, owner: customer.id };
  const made = await realm.admin.send("POST", "/v1/accounts", account);
  await realm.drain();
  const move = { source: { account: funded.account }, destination: { account: made.body.id } };
  const paid = await realm.admin.send("POST", "/v1/transactions", { ...move, value: "2" });
  equal(paid.status, 201, paid.text);
  const asked = {
    ...{ source: { account: made.body.id }, destination: { address: OUTSIDE }, value: "1" },
  };
  const created = await customer.send("POST", "/v1/withdrawals", asked);
  equal(created.status, 201, created.text);
  const path = `/v1/withdrawals/${created.body.id}`;
  const secret = "https://me:secret@node.example/v3/0123456789abcdef gave no answer; 10.0.0.9:8545";
  await funded.advance();
  await rowsOf(realm, "update chain_orders set error = $1", [secret]);
  const [bytes] = await rowsOf<{ raw: string; plan: string }>(
    realm,
    "select raw, plan from order_attempts",
  ).catch(() => []);
  const own = await read(customer.send, created.body.id);
  deepEqual([own.order, own.acts.speed_up], [undefined, true]);
  const others = [
    await realm.user({ role: "manage", scope: "realm" }),
    await realm.user({ role: "user", scope: "realm" }),
  ];
  for (const { send } of others) equal((await send("GET", path)).body.order, undefined);
  equal((await (await realm.user()).send("GET", path)).status, 404);
  const whole = await realm.admin.send("GET", path);
  match(whole.body.order.error, /^… gave no answer; …$/);
  ok(bytes !== undefined && !whole.text.includes(bytes.raw.slice(10, 60)), "no bytes are shown");
  const part = await realm.admin.send("GET", `${path}?fields=id,order.state`);
  deepEqual(part.body, { id: created.body.id, order: { state: "sent" } });
  deepEqual((await realm.admin.send("GET", `${path}?fields=id`)).body, { id: created.body.id });
  for (const list of ["/v1/withdrawals?scope=all", "/v1/withdrawals/all?scope=all"]) {
    const { text } = await realm.admin.send("GET", list);
    ok(text.includes(created.body.id) && !/"order"|"acts"/.test(text), list);
  }
});

test("administrators list the open orders of a ramp, page by page", async (funded) => {
  const { realm, ramp } = funded;
  const ids: string[] = [];
  for (let one = 0; one < 3; one++) ids.push((await funded.withdraw("0.1")).body.id);
  await funded.advance();
  await funded.finish(ids[0]);
  const { body: { id: last } } = await funded.withdraw("0.1");
  const path = `/v1/accounts/${ramp}/orders?open=true`;
  const { body } = await realm.admin.send("GET", path);
  const open = body.filter(({ state }: { state: string }) => state !== "mined");
  ok(!JSON.stringify(body).includes(ids[0]), "it has ended");
  equal(open.at(-1).reference, last);
  deepEqual([open.at(-1).state, open.at(-1).purpose, open.at(-1).nonce], [
    "new",
    "withdrawal",
    null,
  ]);
  const found: string[] = [];
  for (let page: string | undefined = `${path}&limit=1`; page !== undefined;) {
    const answer: Answer = await realm.admin.send("GET", page);
    found.push(...answer.body.map(({ reference }: { reference: string }) => reference));
    page = answer.headers.get("link")?.match(/<([^>]+)>; rel="next"/)?.[1];
  }
  deepEqual(found, body.map(({ reference }: { reference: string }) => reference));
  const weak = [
    [await realm.user(), "permission.role"],
    [await realm.user({ role: "manage", scope: "realm" }), "permission.role"],
    [await realm.user({ role: "admin", scope: "own" }), "permission.scope"],
  ] as const;
  for (const [{ send }, code] of weak) deepEqual(codeOf(await send("GET", path)), [403, code]);
  await using neighbour = await realm.neighbour();
  deepEqual(codeOf(await neighbour.admin.send("GET", path)), [404, "ramp.not_found"]);
  for (const other of [funded.account, "none"]) {
    const answer = await realm.admin.send("GET", `/v1/accounts/${other}/orders`);
    deepEqual(codeOf(answer), [404, "ramp.not_found"]);
  }
  for (const query of ["open=false", "after=x", "limit=0", "limit=1001", "x=1"]) {
    equal((await realm.admin.send("GET", `/v1/accounts/${ramp}/orders?${query}`)).status, 400);
  }
});

test("a dry run of a speed-up tells the old and the new price, and the speed-up is that", async (funded) => {
  const { send } = funded.realm.admin;
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  const path = `/v1/withdrawals/${id}/speed-up`;
  const early = await send("POST", `${path}?dry_run=true`, { speed: "fast" });
  equal(early.status, 200, early.text);
  equal(early.body.speed_up.replaces, false);
  await funded.advance();
  await rowsOf(funded.realm, "update fee_quotes set base = base * 2, quoted_at = now()");
  const dry = await send("POST", `${path}?dry_run=true`, { speed: "fast" });
  const { fee, price, replaces } = dry.body.speed_up;
  equal(replaces, true);
  equal(price.asset, "ETH");
  deepEqual([price.before, price.after], [fee.before, fee.after], "the asset pays its own fee");
  ok(fee.after > fee.before);
  equal((await read(send, id)).fee.value, fee.before, "nothing has changed");
  const real = await send("POST", path, { speed: "fast" });
  deepEqual(real.body.speed_up, dry.body.speed_up);
  equal((await read(send, id)).fee.value, fee.after);
  const stranger = await funded.realm.user();
  const refused = await stranger.send("POST", `${path}?dry_run=true`, { speed: "fast" });
  deepEqual(codeOf(refused), [404, "withdrawal.not_found"]);
  await seeBlock(funded);
  await rowsOf(funded.realm, "update fee_quotes set base = base * 1000000, quoted_at = now()");
  const dear = await send("POST", `${path}?dry_run=true`, { speed: "fast" });
  deepEqual(codeOf(dear), [409, "balance.insufficient"]);
});

for (const utxo of UTXO_CHAINS.filter(({ id }) => /^(BITCOIN_CASH|DOGECOIN)$/.test(id))) {
  Deno.test({
    name:
      `${utxo.asset}: a withdrawal that was sent cannot be replaced, as its dry run and its acts say`,
    ignore: utxo.start !== startBcash && !hasLitecoind(),
    fn: async () => {
      await using funded = await openUtxoRamp(utxo);
      await funded.fund(3n * COIN);
      const { ids: [id] } = await queue(funded, utxo, 1);
      const { send } = funded.realm.admin;
      deepEqual((await read(send, id)).acts, { cancel: true, speed_up: true });
      await funded.advance();
      deepEqual((await read(send, id)).acts, {
        cancel: NOT_CANCELABLE,
        speed_up: NOT_CANCELABLE,
      });
      const path = `/v1/withdrawals/${id}/speed-up?dry_run=true`;
      const dry = await send("POST", path, { speed: "fast" });
      match(dry.body.detail, /does not replace transactions/);
    },
  });
}

Deno.test({
  name:
    "LTC: withdrawals of a batch show its order, and what waits for change says behind how many",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    await funded.fund(5n * COIN);
    const { send } = funded.realm.admin;
    const { ids } = await queue(funded, LITECOIN, 3);
    await crashAt(funded, "planned");
    const batched = await Promise.all(ids.map((id) => read(send, id)));
    const [{ order }] = batched;
    for (const one of batched) deepEqual(one.order, order);
    equal(order.state, "planned");
    notEqual(order.batch_order, null);
    deepEqual(batched[0].acts, { cancel: true, speed_up: true });
    await funded.advance();
    const [{ order: sent, acts }] = await Promise.all(ids.map((id) => read(send, id)));
    deepEqual([sent.state, sent.batch_order, acts.cancel], [
      "sent",
      order.batch_order,
      NOT_CANCELABLE,
    ]);
    const { ids: [next] } = await queue(funded, LITECOIN, 1);
    await funded.advance();
    equal((await read(send, next)).order.ahead, 1, "its coins are change of the batch");
    const orders = await send("GET", `/v1/accounts/${funded.ramp}/orders`);
    deepEqual(orders.body.map(({ purpose }: { purpose: string }) => purpose), [
      "batch",
      "withdrawal",
    ]);
  },
});
