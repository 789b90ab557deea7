import { deepEqual, equal, ok } from "node:assert/strict";
import { customerOf, formatIp, holds, parseIp, parseNetwork } from "../../domain/ip_addresses.ts";

Deno.test("an address is written in one form, however it was given", () => {
  const forms: Record<string, string> = {
    "203.0.113.7": "203.0.113.7",
    "::ffff:203.0.113.7": "203.0.113.7",
    "::FFFF:CB00:7107": "203.0.113.7",
    "::": "::",
    "::1": "::1",
    "1::": "1::",
    "2001:DB8:0:0:0:0:0:1": "2001:db8::1",
    "2001:db8:0:0:1:0:0:1": "2001:db8::1:0:0:1",
    "2001:db8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1",
    "0:0:1:0:0:0:1:0": "0:0:1::1:0",
    "64:ff9b::192.0.2.33": "64:ff9b::c000:221",
    "fe80::a:b:c:d": "fe80::a:b:c:d",
  };
  for (const [given, expected] of Object.entries(forms)) {
    equal(formatIp(parseIp(given)!), expected, given);
    equal(parseIp(expected), parseIp(given), given);
  }
});

Deno.test("text that only resembles an address or a network is none", () => {
  const others = [
    "",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3.4 ",
    "0x7f.1",
    "2130706433",
  ];
  const six = [":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::"];
  const odd = ["1:2:3:4:5:6:7::8", "::1.2.3.256", "fe80::1%eth0", "[::1]", ":1:2:3:4:5:6:7:8"];
  for (const text of [...others, ...six, ...odd]) equal(parseIp(text), null, text);
  const networks = ["10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "a/8", "1.2.3.4/-1"];
  for (const text of networks) equal(parseNetwork(text), null, text);
});

Deno.test("a network holds addresses that begin with its bits, in any notation", () => {
  const cases: [string, string, boolean][] = [
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.0", false],
    ["10.0.0.0/8", "::ffff:10.1.2.3", true],
    ["0.0.0.0/0", "203.0.113.7", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["::ffff:10.0.0.0/104", "10.9.9.9", true],
    ["2001:db8::/32", "2001:db8:ffff::1", true],
    ["2001:db8::/32", "2001:db9::", false],
    ["192.0.2.7", "192.0.2.7", true],
    ["192.0.2.7", "192.0.2.8", false],
    ["::1", "::1", true],
  ];
  for (const [network, address, inside] of cases) {
    equal(holds(parseNetwork(network)!, parseIp(address)!), inside, `${network} ${address}`);
  }
});

Deno.test("IPv6 addresses are counted by the /64 that one customer has", () => {
  const of = (text: string) => customerOf(parseIp(text)!);
  equal(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  deepEqual(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::"));
  ok(of("2001:db8:1:3::1") !== of("2001:db8:1:2::1"));
  equal(of("203.0.113.7"), "203.0.113.7");
});
