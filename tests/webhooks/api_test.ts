import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { isPublicAddress, targetFault } from "../../domain/webhooks/targets.ts";
import { testRealm } from "../support/realm.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const URL_ONE = "https://hooks.example.com/purser";

Deno.test("webhooks are created, read, changed, deleted and restored; the secret is shown once", async () => {
  await using realm = await testRealm();
  const { send } = realm.admin;
  const input = {
    url: URL_ONE,
    events: ["deposit.confirmed", "deposit.confirmed"],
    data: { a: 1 },
  };
  const key = { "idempotency-key": "once" };
  const made = await send("POST", "/v1/webhooks", input, key);
  equal(made.status, 201, made.text);
  const { secret, ...shown } = made.body;
  match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  deepEqual((await send("POST", "/v1/webhooks", input, key)).body, made.body);
  deepEqual([shown.events, shown.active, shown.data], [["deposit.confirmed"], true, { a: 1 }]);
  const path = `/v1/webhooks/${shown.id}`;
  deepEqual((await send("GET", path)).body, shown);
  deepEqual((await send("GET", "/v1/webhooks/all")).body, [shown]);
  equal((await send("GET", '/v1/webhooks?query={"active":true}')).body.total, 1);
  equal((await send("GET", "/v1/webhooks/count")).body, 1);
  equal((await send("PATCH", path, {})).status, 200, "as every PATCH that asks for nothing");
  const changed = await send("PATCH", path, { events: ["*"], active: false });
  deepEqual([changed.body.events, changed.body.active], [["*"], false]);
  equal((await send("POST", `${path}/test`)).body.code, "version.conflict");
  equal((await send("DELETE", path)).body.deleted, true);
  equal((await send("GET", path)).body.code, "webhook.not_found");
  equal((await send("POST", `${path}/undelete`)).body.deleted, undefined);
  const rotated = await send("POST", `${path}/rotate`, { hours: 1 });
  notEqual(rotated.body.secret, secret);
  ok(rotated.body.previous_secret_until > Date.now());
  const audit = (await send("GET", "/v1/audit")).text;
  ok(audit.includes("POST /v1/webhooks") && !audit.includes("whsec_"), audit);
});

Deno.test("webhooks are refused where the request is wrong, or the webhook is another's", async () => {
  await using realm = await testRealm();
  const { send } = realm.admin;
  for (
    const url of [
      ...["http://hooks.example.com", "ftp://hooks.example.com", "hooks.example.com", ""],
      ...["https://user:secret@example.com", "https://example.com/#part", "https://localhost/"],
      ...["https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://[::1]/"],
      ...[
        "https://10.1.2.3/",
        "https://169.254.169.254/latest",
        "https://metadata.google.internal/",
      ],
      ...["https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://intranet/"],
      `https://example.com/${"a".repeat(2000)}`,
      `https://example.com/${"ü".repeat(400)}`,
      ...["https://0177.0.0.1/", "https://127.1/", "https://0/", "https://１２７.0.0.1/"],
      ...["https://127.0.0.1./", "https://localhost./", "https://a.LOCALHOST/", "https://[::]/"],
      ...["https://[fe80::1%25eth0]/", "https://[2002:7f00:1::]/", "https://[2001:0:7f00:1::]/"],
      ...[
        "https://[64:ff9b:1::a00:1]/",
        "https://[::127.0.0.1]/",
        "https://hooks.example.com:0x50/",
      ],
      ...["https://hooks.example.com:65536/", "https://exa mple.com/", "https://@10.0.0.1/"],
    ]
  ) {
    const refused = await send("POST", "/v1/webhooks", { url, events: ["*"] });
    deepEqual([refused.status, refused.body.code], [400, "request.invalid"], url);
    equal(refused.body.errors[0].path, "/url", url);
  }
  for (const events of [[], ["nothing.happened"], "*"]) {
    const refused = await send("POST", "/v1/webhooks", { url: URL_ONE, events });
    equal(refused.body.code, "request.invalid");
  }
  const { id } = (await send("POST", "/v1/webhooks", { url: URL_ONE, events: ["*"] })).body;
  const user = await realm.user();
  const path = `/v1/webhooks/${id}`;
  for (
    const [method, at, body] of [
      ["GET", path],
      ["PATCH", path, { active: false }],
      ["DELETE", path],
      ["POST", `${path}/test`],
      ["POST", `${path}/rotate`, {}],
      ["GET", `${path}/deliveries`],
      ["POST", `${path}/deliveries/resend`, { from: 0 }],
      ["POST", `${path}/deliveries/${id}/resend`],
    ] as const
  ) {
    const refused = await user.send(method, at, body);
    deepEqual([refused.status, refused.body.code], [404, "webhook.not_found"], `${method} ${at}`);
  }
  const reader = await realm.user({ role: "user", scope: "realm" });
  equal((await reader.send("GET", path)).status, 200);
  equal((await reader.send("PATCH", path, { active: false })).body.code, "permission.owner");
  equal((await reader.send("POST", `${path}/rotate`, {})).body.code, "permission.owner");
  for (const delivery of [id, "nothing"]) {
    const refused = await send("POST", `${path}/deliveries/${delivery}/resend`);
    equal(refused.body.code, "delivery.not_found");
  }
  for (let more = 0; more < 20; more++) {
    await user.send("POST", "/v1/webhooks", { url: URL_ONE, events: ["*"] });
  }
  const beyond = await user.send("POST", "/v1/webhooks", { url: URL_ONE, events: ["*"] });
  equal(beyond.body.code, "request.invalid");
});

Deno.test("an installation without webhooks refuses them", async () => {
  await using realm = await testRealm({ env: { WEBHOOKS: "off" } });
  const refused = await realm.admin.send("POST", "/v1/webhooks", { url: URL_ONE, events: ["*"] });
  deepEqual([refused.status, refused.body.code], [501, "extension.disabled"]);
});

Deno.test("addresses that are not of the public internet are refused", () => {
  for (
    const address of [
      ...["0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254"],
      ...["172.16.0.1", "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "224.0.0.1"],
      ...["239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0"],
      ...["fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1"],
      ...["64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "100::1"],
      ...["", "example.com", "1.2.3", "5f00::1"],
    ]
  ) equal(isPublicAddress(address), false, address);
  for (const address of ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8"]) {
    equal(isPublicAddress(address), true, address);
  }
  equal(targetFault("http://127.0.0.1:1/", { allowPrivate: true }), null);
  equal(targetFault("https://hooks.example.com:8443/a?b=c", { allowPrivate: false }), null);
});

Deno.test("a webhook of a user receives its own events alone, and of a transaction only its own balance", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  await using neighbour = await realm.neighbour();
  const [one, two] = [await realm.user(), await realm.user()];
  const { name, account } = await realm.currency("1000");
  const mine = await realm.account({ asset: name, by: one });
  const theirs = await realm.account({ asset: name, by: two });
  await worker.run();
  for (const { send, id } of [one, two]) {
    const hook = { url: `${receiver.url}/${id}`, events: ["*"] };
    equal((await send("POST", "/v1/webhooks", hook)).status, 201);
  }
  await neighbour.admin.send("POST", "/v1/webhooks", { url: `${receiver.url}/no`, events: ["*"] });
  const body = (source: string, destination: string) => ({
    source: { account: source },
    destination: { account: destination },
    value: "5",
  });
  await realm.admin.send("POST", "/v1/transactions", body(account, mine));
  await one.send("POST", "/v1/transactions", body(mine, theirs));
  await worker.run();
  const at = (user: string) =>
    receiver.received.filter((each) => each.path === `/${user}`).map((each) => {
      const { source, destination } = each.body.data.balances;
      return [each.body.type, source?.total ?? null, destination?.total ?? null];
    });
  deepEqual(at(one.id), [
    ["transaction.created", null, "5"],
    ["transaction.created", "0", null],
  ]);
  deepEqual(at(two.id), [["transaction.created", null, "5"]]);
  equal(receiver.received.length, 3);
});
