import { deepEqual, equal, throws } from "node:assert/strict";
import { callerAddress, readNetworks } from "../../routes/http/caller_address.ts";
import { createApp } from "../../routes/http/app.ts";
import { PLATFORM_KEY, rowsOf, testRealm } from "../support/realm.ts";

const PROXIES = readNetworks(["10.0.0.0/8", "2001:db8:aaaa::/48"]);
const seen = (connection: string, headers: Record<string, string>, proxies = PROXIES) =>
  callerAddress(new Headers(headers), connection, proxies);

Deno.test("only a trusted proxy names the caller's address, and only the elements that it added count", () => {
  const xff = (text: string) => ({ "x-forwarded-for": text });
  const cases: [string, Record<string, string>, string][] = [
    ["203.0.113.9", xff("192.0.2.1"), "203.0.113.9"],
    ["203.0.113.9", { forwarded: "for=192.0.2.1" }, "203.0.113.9"],
    ["10.0.0.1", {}, "10.0.0.1"],
    ["10.0.0.1", xff("192.0.2.1"), "192.0.2.1"],
    ["::ffff:10.0.0.1", xff("192.0.2.1"), "192.0.2.1"],
    ["10.0.0.1", xff("1.1.1.1, 192.0.2.1"), "192.0.2.1"],
    ["10.0.0.1", xff("1.1.1.1, 192.0.2.1, 10.2.3.4"), "192.0.2.1"],
    ["10.0.0.1", xff("10.9.9.9, 10.2.3.4"), "10.9.9.9"],
    ["10.0.0.1", xff("192.0.2.1:5555"), "192.0.2.1"],
    ["10.0.0.1", xff("[2001:db8::1]:5555"), "2001:db8::1"],
    ["10.0.0.1", xff("192.0.2.1, unknown"), "10.0.0.1"],
    ["10.0.0.1", xff("192.0.2.1, "), "10.0.0.1"],
    ["10.0.0.1", xff("10.1.1.1' or 1=1"), "10.0.0.1"],
    ["2001:db8:aaaa::1", xff("2001:DB8:0:0::7"), "2001:db8::7"],
    ["fe80::1%eth0", xff("192.0.2.1"), "fe80::1"],
    [
      "10.0.0.1",
      { forwarded: 'for=1.1.1.1, FOR="[2001:db8::5]:99";proto=https;by=10.0.0.1' },
      "2001:db8::5",
    ],
    ["10.0.0.1", { forwarded: 'for="a,for=1.1.1.1";by="x", for=192.0.2.4' }, "192.0.2.4"],
    ["10.0.0.1", { forwarded: "for=_hidden" }, "10.0.0.1"],
    ["10.0.0.1", { ...xff("192.0.2.1"), forwarded: "for=192.0.2.1" }, "192.0.2.1"],
  ];
  for (const [connection, headers, expected] of cases) {
    equal(seen(connection, headers), expected, `${connection} ${JSON.stringify(headers)}`);
  }
  equal(seen("10.0.0.1", xff("192.0.2.1"), []), "10.0.0.1", "no proxy is trusted");
});

Deno.test("a caller does not choose its address by the header that the proxy does not set", () => {
  const both = { "x-forwarded-for": "192.0.2.1", forwarded: "for=10.0.0.7" };
  throws(() => seen("10.0.0.1", both), { code: "request.malformed" });
});

Deno.test("a quotation that a caller does not end takes in nothing that the proxy has added, and a long chain is not read", () => {
  const forwarded = (text: string) => () => seen("10.0.0.1", { forwarded: text });
  const own = "for=192.0.2.66"; // as the proxy adds it
  for (const said of ['for=198.51.100.7;x="', 'for=198.51.100.7;x="a"b"', '"']) {
    throws(forwarded(`${said}, ${own}`), { code: "request.malformed" }, said);
    throws(forwarded(`${said}, for="[2001:db8::5]:99"`), { code: "request.malformed" }, said);
  }
  equal(forwarded(`for=198.51.100.7;x="\\", ${own}`)(), "192.0.2.66");
  const long = "for=198.51.100.7, ".repeat(300);
  throws(forwarded(long + own), { code: "request.malformed" });
  throws(() => seen("10.0.0.1", { "x-forwarded-for": "1.1.1.1,".repeat(900) + "192.0.2.66" }), {
    code: "request.malformed",
  });
});

Deno.test("the trail and the limits know callers behind a proxy by their own addresses", async () => {
  await using realm = await testRealm({ env: { TRUSTED_PROXIES: "127.0.0.0/8, ::1" } });
  const app = createApp(realm.services, PLATFORM_KEY);
  const login = async (from: string, password: string) => {
    const answer = await app(
      new Request("http://purser.test/v1/auth/login", {
        method: "POST",
        headers: {
          "x-api-key": realm.made.applicationKey,
          "content-type": "application/json",
          "x-forwarded-for": `198.51.100.1, ${from}`,
        },
        body: JSON.stringify({
          realm_key: realm.made.realm.realm_key,
          username: `nobody-${crypto.randomUUID()}`,
          password,
        }),
      }),
      "127.0.0.1",
    );
    await answer.body?.cancel();
    return answer.status;
  };
  for (let i = 0; i < 30; i += 10) {
    const some = Array.from({ length: 10 }, (_, k) => login(`2001:db8:0:7::${i + k + 1}`, "wrong"));
    deepEqual(new Set(await Promise.all(some)), new Set([401]));
  }
  equal(await login("2001:db8:0:7:ffff::", "wrong"), 429, "the same /64");
  equal(await login("192.0.2.1", "wrong"), 401, "another caller behind the same proxy");
  const [row] = await rowsOf<{ address: string }>(
    realm,
    "select address from audit where action like '%login refused' order by id desc limit 1",
  );
  equal(row.address, "192.0.2.1");
});
