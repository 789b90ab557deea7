import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { examplesOf, runExample } from "../support/guide_examples.ts";
import { type Answer, rowsOf, testRealm } from "../support/realm.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("withdrawals of one ramp");

const ESTIMATE = "/v1/withdrawals/estimate";

test("GET /v1/withdrawals/estimate takes a body, a query, or both, and POST does the same, as the guide shows", async (funded) => {
  const wanted = { account: funded.account, address: OUTSIDE, amount: 0.5, speed: "fast" };
  const { admin } = funded.realm;
  const posted = await admin.send("POST", ESTIMATE, wanted);
  equal(posted.status, 200, posted.text);
  ok(/^0\.000\d+$/.test(posted.body));
  const query = new URLSearchParams({ ...wanted, amount: "0.5" });
  deepEqual((await admin.send("GET", `${ESTIMATE}?${query}`)).body, posted.body);
  const app = createApp(funded.realm.services, "a platform key of no use");
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  try {
    const key = funded.realm.admin.key;
    const { port } = server.addr;
    const whole = await getWithBody(port, ESTIMATE, key, JSON.stringify(wanted));
    deepEqual(whole, { status: 200, body: posted.body });
    const { speed, ...rest } = wanted;
    const path = `${ESTIMATE}?speed=${speed}`;
    deepEqual(await getWithBody(port, path, key, JSON.stringify(rest)), whole);
    const half = await getWithBody(
      port,
      ESTIMATE,
      key,
      JSON.stringify({ account: funded.account }),
    );
    equal((half.body as { code: string }).code, "request.invalid");
    const nothing = { account: funded.realm.id };
    const there = new URLSearchParams({ address: OUTSIDE, amount: "0.5" });
    const named = new URLSearchParams(nothing);
    const missing = [
      await getWithBody(port, `${ESTIMATE}?${there}`, key, JSON.stringify(nothing)),
      await getWithBody(
        port,
        `${ESTIMATE}?${named}`,
        key,
        JSON.stringify(Object.fromEntries(there)),
      ),
    ];
    deepEqual(
      missing.map(({ status, body }) => {
        const [{ path, in: part }] = (body as { errors: Record<string, string>[] }).errors;
        return [status, path, part];
      }),
      [[404, "/account", undefined], [404, "/account", "query"]],
    );
    const broken = await getWithBody(port, ESTIMATE, key, "{");
    equal((broken.body as { code: string }).code, "request.malformed");
  } finally {
    await server.shutdown();
  }
  const names = new Map([["account", funded.account], ["address", OUTSIDE]]);
  const page = "docs/guide/withdrawals.md";
  const examples = await examplesOf(page);
  deepEqual(examples.map(({ path }) => path), [ESTIMATE, "/v1/withdrawals"]);
  for (const example of examples) await runExample(funded.realm, names, page, example);
});

test("an estimate rises with the speed and needs recent prices of a configured chain", async (funded) => {
  const fees = [];
  for (const speed of ["slow", "medium", "fast"]) {
    const wanted = { account: funded.account, address: OUTSIDE, amount: "1", speed };
    fees.push((await funded.realm.admin.send("POST", ESTIMATE, wanted)).body);
  }
  deepEqual(fees.toSorted(), fees);
  await rowsOf(funded.realm, "update fee_quotes set quoted_at = now() - interval '1 hour'");
  const stale = await funded.withdraw("1");
  deepEqual([stale.status, stale.body.code], [503, "chain.stale"]);
  await using bare = await testRealm();
  const id = await bare.account({ asset: "ETH" });
  const wanted = { account: id, address: OUTSIDE, amount: "1" };
  const answer = await bare.admin.send("POST", ESTIMATE, wanted);
  deepEqual([answer.status, answer.body.code], [422, "chain.not_configured"]);
});

Deno.test("POST /v1/withdrawals refuses a withdrawal that is known to fail, and moves nothing", async () => {
  await using funded = await openFundedRamp({ coins: 5n * 10n ** 18n });
  const refused: [Promise<Answer>, number, string][] = [
    [funded.withdraw("11"), 409, "balance.insufficient"],
    [funded.withdraw("10"), 409, "balance.insufficient"], // the fee comes on top
    [funded.withdraw("6"), 409, "ramp.assets_insufficient"],
    [funded.withdraw("0"), 400, "request.invalid"],
    [funded.withdraw("1.0000000000000000001"), 400, "request.invalid"],
    [funded.withdraw("1", { asset: "BTC" }), 409, "account.asset_mismatch"],
    [funded.withdraw("1", { destination: { address: "0x12" } }), 422, "address.invalid"],
    [funded.withdraw("1", { destination: { address: funded.address } }), 422, "address.invalid"],
    [funded.withdraw("1", { source: { account: "none" } }), 404, "account.not_found"],
    [funded.withdraw("1", { source: { alias: "none" } }), 404, "alias.not_found"],
    [funded.withdraw("1", { fee: { speed: "warp" } }), 400, "request.invalid"],
    [funded.withdraw("1", { more: true }), 400, "request.invalid"],
    [funded.withdraw("1", { max_fee: "-1" }), 400, "request.invalid"],
    [funded.withdraw("1", { max_fee: "1.0000000000000000001" }), 400, "request.invalid"],
    [funded.withdraw("1", { max_fee: "0" }), 409, "condition.failed"],
  ];
  for (const [answer, status, code] of refused) {
    const { body, text } = await answer;
    deepEqual([body.status, body.code], [status, code], text);
  }
  const wanted = { account: funded.account, address: OUTSIDE, amount: "1" };
  const { body: fee } = await funded.realm.admin.send("POST", ESTIMATE, wanted);
  const nothing = await funded.withdraw(fee, { fee: { paid_by: "receiver" } });
  deepEqual([nothing.status, nothing.body.code], [409, "withdrawal.below_fee"], nothing.text);
  await rowsOf(funded.realm, "update fee_quotes set base = base + 1");
  const risen = await funded.withdraw("1", { max_fee: fee });
  deepEqual([risen.body.code, risen.body.errors[0].path], ["condition.failed", "/max_fee"]);
  equal((await funded.books()).account, "10");
  deepEqual(await rowsOf(funded.realm, "select id from chain_orders"), []);
  await rowsOf(funded.realm, "update fee_quotes set base = base - 1");
  equal((await funded.withdraw("1", { max_fee: fee })).body.max_fee, fee);
});

test("POST /v1/withdrawals refuses accounts that cannot send, and those of others", async (funded) => {
  const stranger = await funded.realm.user();
  const body = { source: { account: funded.account }, destination: { address: OUTSIDE }, value: 1 };
  equal((await stranger.send("POST", "/v1/withdrawals", body)).body.code, "account.not_found");
  const reader = await funded.realm.user({ role: "user", scope: "realm" });
  for (const account of [funded.account, funded.ramp]) {
    const seen = await reader.send("POST", "/v1/withdrawals", { ...body, source: { account } });
    deepEqual([seen.status, seen.body.code], [403, "permission.owner"], seen.text);
  }
  const lonely = await funded.realm.account({ asset: "ETH" });
  const unramped = await funded.withdraw("1", { source: { account: lonely } });
  equal(unramped.body.code, "account.no_ramp");
  await freeze(funded, funded.ramp, true);
  equal((await funded.withdraw("1")).body.code, "account.frozen");
  await freeze(funded, funded.ramp, false);
  await freeze(funded, funded.account, true);
  equal((await funded.withdraw("1")).body.code, "account.frozen");
});

test("a withdrawal under an idempotency key happens once", async (funded) => {
  const body = {
    source: { account: funded.account },
    destination: { address: OUTSIDE },
    value: "1",
  };
  const headers = { "idempotency-key": "once" };
  const { admin } = funded.realm;
  const [one, two] = await Promise.all([
    admin.send("POST", "/v1/withdrawals", body, headers),
    admin.send("POST", "/v1/withdrawals", body, headers),
  ]);
  equal(one.body.id, two.body.id);
  equal((await rowsOf(funded.realm, "select id from chain_orders")).length, 1);
});

test("withdrawals are records: read by permitted users, only their data changes", async (funded) => {
  const { body: { id } } = await funded.withdraw("1", { data: { note: "a" } });
  const stranger = await funded.realm.user();
  equal((await stranger.send("GET", `/v1/withdrawals/${id}`)).body.code, "withdrawal.not_found");
  const reader = await funded.realm.user({ role: "user", scope: "realm" });
  equal((await reader.send("GET", `/v1/withdrawals/${id}`)).status, 200);
  const acts = [["PATCH", "", { data: {} }], ["POST", "/cancel", {}], ["POST", "/speed-up", {
    speed: "fast",
  }]] as const;
  for (const [method, act, body] of acts) {
    const path = `/v1/withdrawals/${id}${act}`;
    equal((await stranger.send(method, path, body)).body.code, "withdrawal.not_found", act);
    equal((await reader.send(method, path, body)).body.code, "permission.owner", act);
  }
  const { admin } = funded.realm;
  const changed = await admin.send("PATCH", `/v1/withdrawals/${id}`, { data: { note: "b" } });
  deepEqual([changed.status, changed.body.data], [200, { note: "b" }]);
  equal((await admin.send("PATCH", `/v1/withdrawals/${id}`, { amount: 3 })).status, 400);
  equal((await admin.send("DELETE", `/v1/withdrawals/${id}`)).status, 405);
  await funded.withdraw("2");
  const query = JSON.stringify({ status: "PROCESSING", amount: { $gt: 1.5 } });
  const path = `/v1/withdrawals?query=${encodeURIComponent(query)}&populate=source.account`;
  const { body: page } = await admin.send("GET", path);
  deepEqual([page.total, page.rows[0].value], [1, 2]);
  deepEqual([page.rows[0].source.account.id, page.rows[0].source.ramp], [
    funded.account,
    funded.ramp,
  ]);
  equal((await admin.send("GET", "/v1/withdrawals/count")).body, 2);
  equal((await stranger.send("GET", "/v1/withdrawals/count")).body, 0);
  const told = await rowsOf<{ type: string }>(
    funded.realm,
    "select type from events where entity = $1",
    [
      id,
    ],
  );
  deepEqual(told, [{ type: "withdrawal.updated" }]);
});

test("a withdrawal to an account of this realm shows the account by populate, to users who may see it", async (funded) => {
  const { realm, ramp } = funded;
  const { asset } = (await realm.admin.send("GET", `/v1/accounts/${ramp}`)).body;
  const open = async () => {
    const user = await realm.user();
    const fields = { type: "virtual", asset, ramp, owner: user.id, holder: user.identity };
    const { body: { id } } = await realm.admin.send("POST", "/v1/accounts", fields);
    await realm.drain();
    const made = await user.send("POST", `/v1/account/${id}/address`, {});
    equal(made.status, 201, made.text);
    return { user, id, address: made.body.address.address };
  };
  const [payer, receiver] = [await open(), await open()];
  const move = { source: { account: funded.account }, destination: { account: payer.id } };
  equal((await realm.admin.send("POST", "/v1/transactions", { ...move, value: "5" })).status, 201);
  const pay = async (address: string): Promise<string> => {
    const body = { source: { account: payer.id }, destination: { address }, value: "1" };
    const made = await payer.user.send("POST", "/v1/withdrawals", body);
    equal(made.status, 201, made.text);
    return made.body.id;
  };
  const ids = [await pay(receiver.address), await pay(payer.address), await pay(OUTSIDE)];
  const shown = async ({ send }: { send: typeof realm.admin.send }, fields = "") => {
    const populate = "populate=source.account,destination.account";
    const path = `/v1/withdrawals/all?scope=-own&${populate}${fields}`;
    const { status, body, text } = await send("GET", path);
    equal(status, 200, text);
    return body.map((row: { destination: { address?: string; account?: { id: string } } }) =>
      row.destination.account?.id ?? null
    );
  };
  equal(ids.length, 3);
  deepEqual(await shown(realm.admin), [receiver.id, payer.id, null]);
  deepEqual(await shown(realm.admin, "&fields=destination.account"), [receiver.id, payer.id, null]);
  deepEqual(await shown(payer.user), [null, payer.id, null]);
  const one = await payer.user.send(
    "GET",
    `/v1/withdrawals/${ids[0]}?populate=destination.account`,
  );
  deepEqual(one.body.destination, { address: receiver.address });
  deepEqual((await payer.user.send("GET", `/v1/withdrawals/${ids[1]}`)).body.destination, {
    address: payer.address,
  });
});

test("the block of a withdrawal on its ramp cannot be released by hand", async (funded) => {
  await funded.withdraw("1");
  const [{ block }] = await rowsOf<{ block: string }>(
    funded.realm,
    "select block from withdrawals",
  );
  const path = `/v1/accounts/${funded.ramp}/blocks/${block}`;
  equal((await funded.realm.admin.send("DELETE", path)).body.code, "permission.owner");
});

async function freeze(funded: FundedRamp, account: string, frozen: boolean): Promise<void> {
  await rowsOf(funded.realm, "update accounts set frozen = $2 where id = $1", [account, frozen]);
}

/** Sends a GET with a body, which fetch() would refuse to. */
async function getWithBody(
  port: number,
  path: string,
  key: string,
  body: string,
): Promise<{ status: number; body: unknown }> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [
    `GET ${path} HTTP/1.1`,
    "host: purser.test",
    `x-api-key: ${key}`,
    "content-type: application/json",
    `content-length: ${new TextEncoder().encode(body).length}`,
    "connection: close",
  ];
  const writer = connection.writable.getWriter();
  await writer.write(new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n${body}`));
  writer.releaseLock();
  const text = await new Response(connection.readable).text();
  const [top, answer] = text.split("\r\n\r\n");
  return { status: parseInt(top.split(" ")[1], 10), body: JSON.parse(answer) };
}
