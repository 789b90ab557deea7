import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { PASSWORD, rowsOf, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [
  status,
  body.code,
];

const test = sharing("audit in one realm");

test("GET /v1/audit shows actor, action, time and address, transfers included", async (realm) => {
  const { name, account } = await realm.currency("10");
  const user = await realm.user();
  const mine = await realm.account({ asset: name, by: user });
  const move = { source: { account }, destination: { account: mine }, value: "2" };
  const moved = await realm.admin.send("POST", "/v1/transactions", move);
  const back = { source: { account: mine }, destination: { account }, value: "1" };
  const returned = await user.send("POST", "/v1/transactions", back, { "x-request-id": "mine" });
  const identity = await user.send("POST", "/v1/identities", { data: { secret: "hidden" } }, {
    "x-request-id": "named",
  });
  await realm.operator("PATCH", `/v1/realms/${realm.id}`, { name: "renamed" });
  const { status, body, text } = await realm.admin.send("GET", "/v1/audit");
  equal(status, 200);
  equal(text.includes("hidden"), false);
  const lines = body.map((line: Record<string, unknown>) => [line.actor, line.action, line.entity]);
  deepEqual(lines.slice(0, 4), [
    [null, "PATCH /v1/realms/{id}", realm.id],
    [user.id, "POST /v1/identities", identity.body.id],
    [user.id, "transaction.transfer", returned.body.id],
    [realm.admin.id, "transaction.transfer", moved.body.id],
  ]);
  deepEqual({ ...body[1], id: null, created_at: null }, {
    id: null,
    actor: user.id,
    action: "POST /v1/identities",
    entity: identity.body.id,
    fields: ["type", "data"],
    request_id: "named",
    address: "127.0.0.1",
    key: null,
    created_at: null,
  });
  equal(body[2].address, "127.0.0.1");
  equal(body[2].created_at, returned.body.created_at);
});

Deno.test("GET /v1/audit filters, and pages without a gap or a double", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  for (let i = 0; i < 3; i++) {
    await user.send("POST", "/v1/identities", {});
    await realm.admin.send("POST", "/v1/identities", {});
    await realm.operator("PATCH", `/v1/realms/${realm.id}`, { name: `n${i}` });
  }
  const read = async (query: string) => (await realm.admin.send("GET", `/v1/audit?${query}`)).body;
  const all = await read("sort=created_at");
  deepEqual(
    (await read("")).map((line: { id: string }) => line.id).reverse(),
    all.map(
      (line: { id: string }) => line.id,
    ),
  );
  for (const sort of ["created_at", "-created_at"]) {
    const paged: string[] = [];
    for (let after = "";;) {
      const page = await read(`sort=${sort}&limit=2${after}`);
      if (page.length === 0) break;
      paged.push(...page.map((line: { id: string }) => line.id));
      after = `&after=${paged.at(-1)}`;
    }
    const ids = all.map((line: { id: string }) => line.id);
    deepEqual(paged, sort === "created_at" ? ids : ids.toReversed());
  }
  equal((await read(`actor=${user.id}`)).length, 3);
  equal((await read("action=PATCH%20/v1/realms/{id}")).length, 3);
  equal((await read(`entity=${realm.id}`)).length, 3);
  const third = all[2];
  const late = await read(`from=${third.created_at}&sort=created_at`);
  deepEqual(late.find((line: { id: string }) => line.id === third.id), third);
  equal((await read(`to=${all[0].created_at - 1}`)).length, 0);
  equal((await read("actor=not-an-id")).length, 0);
  for (const query of ["limit=0", "limit=1001", "after=x", "sort=actor", "what=1", "from=x"]) {
    const answer = await realm.admin.send("GET", `/v1/audit?${query}`);
    deepEqual(codeOf(answer), [400, "query.invalid"], query);
  }
});

test("GET /v1/audit is for administrators of the realm, and shows no other's", async (realm) => {
  await using other = await testRealm();
  await other.operator("PATCH", `/v1/realms/${other.id}`, { name: "theirs" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const owner = await realm.user({ role: "admin" });
  deepEqual(codeOf(await manager.send("GET", "/v1/audit")), [403, "permission.role"]);
  deepEqual(codeOf(await owner.send("GET", "/v1/audit")), [403, "permission.scope"]);
  const theirs = await realm.admin.send("GET", `/v1/audit?entity=${other.id}`);
  deepEqual(theirs.body, []);
});

Deno.test("the trail is append-only, for the realm's role and for the owner", async () => {
  await using realm = await testRealm();
  await realm.admin.send("POST", "/v1/users", { username: "u", password: PASSWORD });
  for (const text of ["update audit set actor = null", "delete from audit", "truncate audit"]) {
    await rejects(rowsOf(realm, text), /permission denied|append-only/);
    const owned = text.replace("audit", `${realm.made.realm.schema_name}.audit`);
    await rejects(realm.services.platform.sql.unsafe(owned), /append-only/);
    await rejects(realm.services.platform.sql.unsafe(text), /append-only/);
  }
});

test("GET /v1/audit names the machine key that acted, transfers included, and filters by it", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const made = [];
  for (const each of ["importer", "payer"]) {
    made.push((await realm.admin.send("POST", "/v1/keys", { name: each })).body);
  }
  const by = made.map(({ key }) => ({ "x-api-key": key }));
  const [importer, payer] = made.map(({ id }, i) => ({ id, name: ["importer", "payer"][i] }));
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const batch = { atomic: true, transactions: [move, move] };
  const moved = await realm.nobody("POST", "/v1/transactions", move, by[1]);
  equal((await realm.nobody("POST", "/v1/transactions/batch", batch, by[1])).status, 201);
  const identity = await realm.nobody("POST", "/v1/identities", {}, by[0]);
  const renamed = await realm.nobody("PATCH", `/v1/realms/${realm.id}`, { name: "n" }, by[0]);
  equal(renamed.status, 200);
  await realm.admin.send("POST", "/v1/transactions", move);
  const read = async (query: string) => (await realm.admin.send("GET", `/v1/audit?${query}`)).body;
  const ofPayer = await read(`key=${payer.id}&sort=created_at`);
  deepEqual(
    ofPayer.map((line: Record<string, unknown>) => [line.action, line.actor, line.key]),
    Array(3).fill(["transaction.transfer", realm.admin.id, payer]),
  );
  equal(ofPayer[0].entity, moved.body.id);
  const ofImporter = await read(`key=${importer.id}&sort=created_at`);
  deepEqual(
    ofImporter.map((line: Record<string, unknown>) => [line.action, line.entity, line.key]),
    [["POST /v1/identities", identity.body.id, importer], [
      "PATCH /v1/realms/{id}",
      realm.id,
      importer,
    ]],
  );
  equal((await read("limit=1"))[0].key, null);
  deepEqual(await read("key=nothing"), []);
  await extendHashChain(realm.pool, Date.now);
  const chain = (await realm.admin.send("GET", "/v1/transactions/chain")).body;
  const link = chain.find((each: { id?: string }) => each.id === moved.body.id);
  equal(link.api_key, payer.id, "the chain of hashes covers it");
});

test("a line of the trail has the time at which its request had come whole, however slowly it came", async (realm) => {
  await using process = realm.another();
  let slow = 0;
  Object.assign(process.services, { now: () => Date.now() + slow });
  const body = new ReadableStream<Uint8Array>({
    pull(to) {
      slow = 14_000; // so long a body may take: who follows the trail would have gone on behind its line
      to.enqueue(new TextEncoder().encode('{"type":"neutral"}'));
      to.close();
    },
  }, { highWaterMark: 0 });
  const headers = { "x-api-key": realm.admin.key, "content-type": "application/json" };
  const from = Date.now();
  const request = new Request("http://purser.test/v1/identities", {
    method: "POST",
    body,
    headers,
  });
  const made = await (await process.app(request, "127.0.0.1")).json();
  ok(made.created_at >= from + 14_000, `${made.created_at - from} ms`);
  const { body: lines } = await realm.admin.send("GET", `/v1/audit?entity=${made.id}`);
  ok(lines[0].created_at >= from + 14_000);
});
