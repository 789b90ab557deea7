import { deepEqual, equal, ok } from "node:assert/strict";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { until } from "../support/eventually.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const AT = { chain: "ETHEREUM", testnet: true };

Deno.test("a rescan tells what it found, and what a node knows of the transaction", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const rescan = async (wanted: Record<string, unknown>) => {
    const asked = await send("POST", "/v1/deposits/rescan", { ...AT, ...wanted });
    equal(asked.status, 200, asked.text);
    ok(asked.body.queued);
    return asked.body.id;
  };
  const read = async (id: string) => {
    const answer = await send("GET", `/v1/deposits/rescans/${id}`);
    equal(answer.status, 200, answer.text);
    return answer.body;
  };
  await fixture.mine(2);
  const paid = await anvil.pool({ to: ramp.address, value: ETHER });
  const other = await anvil.pool({ to: rich(4).address, value: ETHER });
  await fixture.mine(2);
  const [deposit] = await fixture.deposits();
  const first = await rescan({ hash: paid.slice(2).toUpperCase() });
  const queued = await read(first);
  deepEqual([queued.state, queued.found, queued.node, queued.hash], ["queued", [], null, paid]);
  const second = await rescan({ hash: other });
  const third = await rescan({ hash: `0x${"12".repeat(32)}` });
  const range = await rescan({ from: deposit.block - 1, to: deposit.block });
  await realm.drain();
  const done = await read(first);
  deepEqual([done.state, done.found_count, done.error], ["done", 1, null]);
  deepEqual(done.found, [{ deposit: deposit.id }]);
  deepEqual(done.node, { state: "block", block: deposit.block });
  ok(done.finished_at >= done.created_at);
  equal(done.owner, realm.admin.id);
  const elsewhere = await read(second);
  deepEqual([elsewhere.found, elsewhere.node.state], [[], "block"]);
  deepEqual((await read(third)).node, { state: "unknown", block: null });
  const blocks = await read(range);
  deepEqual([blocks.found, blocks.node], [[{ deposit: deposit.id }], null]);
  // One that the node still holds, and one that failed in its block.
  const waiting = await anvil.pool({ to: rich(4).address, value: ETHER });
  const batcher = await rescan({ hash: waiting });
  await realm.drain();
  equal((await read(batcher)).node.state, "pending");
  await fixture.mine();
  const data = CALLS.encodeFunctionData("payCoin", [[ramp.address], ETHER]);
  const token = await anvil.deploy("Batcher");
  const failing = await anvil.pool({ to: token, value: 0n, data, gas: "0x30d40" } as never);
  await fixture.mine();
  const failed = await rescan({ hash: failing });
  await realm.drain();
  equal((await read(failed)).node.state, "failed");
});

Deno.test("a rescan whose node is away says so, names no node, and goes on when it is back", async () => {
  let away = false;
  let proxy: Deno.HttpServer<Deno.NetAddr> | null = null;
  await using fixture = await openRampFixture({
    through: (url) => {
      proxy = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (asked) => {
        if (away) return new Response("http://user:secret@node.internal is down", { status: 502 });
        const headers = { "content-type": "application/json" };
        const answer = await fetch(url, { method: "POST", headers, body: await asked.text() });
        return new Response(await answer.text(), { headers });
      });
      return `http://someone:secret@127.0.0.1:${proxy.addr.port}/key-of-provider`;
    },
  });
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  await fixture.mine(2);
  const hash = await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(2);
  away = true;
  const { id } = (await send("POST", "/v1/deposits/rescan", { ...AT, hash })).body;
  await realm.drain();
  const path = `/v1/deposits/rescans/${id}`;
  const { body, text } = await send("GET", path);
  equal(body.state, "queued");
  equal(body.error.code, "upstream.failed");
  equal(body.error.detail, "no node gave an answer that counts");
  for (const secret of ["127.0.0.1", "secret", "key-of", "http"]) {
    ok(!text.includes(secret), secret);
  }
  away = false;
  await until(async () => {
    await rowsOf(realm, "update jobs set run_at = now(), attempts = 0 where state = 'ready'");
    await realm.drain();
    return (await send("GET", path)).body.state === "done";
  }, 200);
  const done = (await send("GET", path)).body;
  deepEqual([done.state, done.error, done.found_count], ["done", null, 1]);
  // One whose job has failed for good, or is gone, has failed.
  away = true;
  const lost = (await send("POST", "/v1/deposits/rescan", { ...AT, hash })).body.id;
  await rowsOf(realm, `update jobs set attempts_max = 1 where id = '${lost}'`);
  await realm.drain();
  const state = async () => (await send("GET", `/v1/deposits/rescans/${lost}`)).body.state;
  equal(await state(), "failed");
  await rowsOf(realm, `delete from jobs where id = '${lost}'`);
  equal(await state(), "failed");
  await proxy!.shutdown();
});

Deno.test("rescans are for administrators of the realm, and take hashes of their chain alone", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const hash = `0x${"ab".repeat(32)}`;
  const wanted = { ...AT, hash };
  const { id } = (await realm.admin.send("POST", "/v1/deposits/rescan", wanted)).body;
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const own = await realm.user({ role: "admin", scope: "own" });
  const path = `/v1/deposits/rescans/${id}`;
  equal((await manager.send("GET", path)).body.code, "permission.role");
  equal((await own.send("GET", path)).body.code, "permission.scope");
  await using other = await realm.neighbour();
  equal((await other.admin.send("GET", path)).status, 404);
  equal((await realm.admin.send("GET", "/v1/deposits/rescans/x")).status, 404);
  for (const bad of ["0x00", "x".repeat(64), `0x${"ab".repeat(33)}`, "../eth_sendRawTransaction"]) {
    const refused = await realm.admin.send("POST", "/v1/deposits/rescan", { ...AT, hash: bad });
    deepEqual([refused.status, refused.body.code], [400, "request.invalid"], bad);
  }
  const rows = await rowsOf(realm, "select hash, found_count from rescans");
  deepEqual(rows, [{ hash, found_count: 0 }]);
});

Deno.test("20 rescans of a network run or wait for their turn at once, however many are asked for at the same moment", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { send } = realm.admin;
  const wanted = (n: number) => ({ ...AT, hash: `0x${`${n}`.padStart(64, "0")}` });
  const key = { "idempotency-key": "one-of-them" };
  const ask = (n: number) =>
    send("POST", "/v1/deposits/rescan", wanted(n), n === 0 ? key : undefined);
  const first = await ask(0);
  equal(first.status, 200, first.text);
  const open = async () => {
    const [{ n }] = await rowsOf<{ n: number }>(
      realm,
      "select count(*)::integer as n from rescans",
    );
    return n;
  };
  for (let n = 1; n < 15; n++) equal((await ask(n)).status, 200);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(15 + n)));
  const refused = answers.filter(({ status }) => status !== 200);
  deepEqual(refused.map(({ body }) => body.code), Array(7).fill("rate.limited"));
  ok(refused.every(({ status, headers }) => status === 429 && headers.get("retry-after") === "10"));
  equal(await open(), 20);
  const again = await ask(0);
  deepEqual([again.status, again.body.id], [200, first.body.id]);
  // One that died, one that failed and is repeated later, and those that ended make room.
  await rowsOf(realm, `update jobs set state = 'dead' where id = '${first.body.id}'`);
  equal((await ask(40)).status, 200);
  await rowsOf(
    realm,
    `update jobs set attempts = 1 where id = (select id from jobs
      where name = 'deposit.rescan' and state = 'ready' order by id limit 1)`,
  );
  equal((await ask(42)).status, 200);
  equal((await ask(41)).status, 429);
  await realm.drain();
  equal((await ask(41)).status, 200);
});
