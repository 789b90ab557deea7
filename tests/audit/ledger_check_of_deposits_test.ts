/** The checker on ledgers whose value came from a chain, and left by it. @module */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger, checkWithin } from "../../domain/audit/ledger_check.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { openExchangeFixture } from "../support/exchange_fixture.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import type { TestRealm } from "../support/realm.ts";
import { tampering } from "../support/tamper.ts";

const ETHER = 10n ** 18n;

/** The codes of what the checker finds after changes by hand, which are taken back. */
async function codesAfter(realm: TestRealm, ...statements: string[]): Promise<string[]> {
  const { mismatches } = await tampering(realm, statements, checkWithin);
  return [...new Set(mismatches.map(({ code }) => code))].sort();
}

Deno.test("the checker finds nothing in deposits that were credited and forwarded", async () => {
  await using fixture = await openRampFixture();
  const { send } = fixture.realm.admin;
  const ramp = (await fixture.ramp()).id;
  const asked = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const virtual = (await send("POST", "/v1/accounts", asked)).body.id;
  const deposit = await fixture.address(virtual);
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await fixture.mine(); // seen, and not deep enough to count
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["CONFIRMED", "PENDING"]);
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, []);
});

Deno.test("a sweep that a hand leads to an address of others is found", async () => {
  await using fixture = await openRampFixture();
  const ramp = (await fixture.ramp()).id;
  const deposit = await fixture.address(ramp);
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  deepEqual(await codesAfter(fixture.realm), []);
  const to = `jsonb_set(request, '{payments,0,to}', '"0x${"66".repeat(20)}"')`;
  const led = `update chain_orders set request = ${to} where purpose = 'sweep'`;
  deepEqual(await codesAfter(fixture.realm, led), ["order.payout"]);
});

Deno.test("the checker finds nothing in withdrawals under way, done and canceled", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const codes = async () => {
    const { mismatches } = await checkLedger(realm.pool);
    return [...new Set(mismatches.map(({ code }) => code))];
  };
  deepEqual(await codes(), []);
  const [done, canceled] = [await funded.withdraw("0.1"), await funded.withdraw("0.2")];
  equal(canceled.status, 201, canceled.text);
  deepEqual(await codes(), []);
  const withdrawal = `/v1/withdrawals/${canceled.body.id}`;
  const answer = await realm.admin.send("POST", `${withdrawal}/cancel`);
  equal(answer.status, 200, answer.text);
  deepEqual(await codes(), []);
  equal((await funded.finish(done.body.id)).status, "DONE");
  deepEqual(await codes(), []);
});

Deno.test("a deposit that a hand gives to another's account, or to another address, is found", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = (await fixture.ramp()).id;
  const asked = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const [one, other] = [
    (await realm.admin.send("POST", "/v1/accounts", asked)).body.id,
    (await realm.admin.send("POST", "/v1/accounts", asked)).body.id,
  ];
  const address = await fixture.address(one);
  const others = await fixture.address(other);
  await anvil.pool({ to: address.address, value: ETHER });
  await fixture.mine(); // seen, and not deep enough to count
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["PENDING"]);
  deepEqual(await codesAfter(realm), []);
  const given = `account = (select account from addresses where address = '${others.address}')`;
  deepEqual(await codesAfter(realm, `update deposits set ${given}`), ["deposit.address"]);
  deepEqual(await codesAfter(realm, "update deposits set address = '0x1'"), ["deposit.address"]);
});

Deno.test("a credited deposit that a hand calls another payment is found: the true one would be credited again", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = (await fixture.ramp()).id;
  const { address } = await fixture.address(ramp);
  await anvil.pool({ to: address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  deepEqual(await codesAfter(realm), []);
  const hash = `'0x${"66".repeat(32)}'`;
  for (
    const other of [`hash = ${hash}`, "index = index + 1", "network = 'main'", "chain = 'POLYGON'"]
  ) {
    const codes = await codesAfter(
      realm,
      `update deposits set ${other} where status = 'CONFIRMED'`,
    );
    equal(codes.includes("deposit.transaction"), true, `${other}: ${codes}`);
  }
});

Deno.test("a withdrawal that a hand redirects is found, with its order or without, before it is paid and after", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const { body } = await funded.withdraw("0.1");
  const thief = `0x${"66".repeat(20)}`;
  const asked = `update withdrawals set destination = '${thief}'`;
  const sent = `update chain_orders set
    request = jsonb_set(request, '{payments,0,to}', '"${thief}"') where purpose = 'withdrawal'`;
  const assertFound = async () => {
    deepEqual(await codesAfter(realm), []);
    deepEqual(await codesAfter(realm, asked), ["event.facts", "withdrawal.order"]);
    deepEqual(await codesAfter(realm, sent), ["withdrawal.order"]);
    deepEqual(await codesAfter(realm, asked, sent), ["event.facts"]);
  };
  await assertFound();
  equal((await funded.finish(body.id)).status, "DONE");
  await assertFound();
});

Deno.test("a transfer with an exchange that a hand leads elsewhere, or to another account there, is found", async () => {
  await using fixture = await openExchangeFixture();
  const { realm } = fixture;
  equal((await fixture.deposit()).status, 201);
  const { id } = (await fixture.withdraw()).body;
  await fixture.advance(id); // its address is known from here on
  deepEqual(await codesAfter(realm), []);
  const other = `'0x${"66".repeat(20)}'`;
  const at = (kind: string) =>
    `update ramp_transfers set address = ${other} where kind = '${kind}'`;
  deepEqual(await codesAfter(realm, at("deposit")), ["event.facts"]);
  deepEqual(await codesAfter(realm, at("withdraw")), ["event.facts"]);
  const credentials = "credentials = set_byte(credentials, 60, get_byte(credentials, 60) # 1)";
  deepEqual(await codesAfter(realm, `update external_ramps set ${credentials}`), ["event.facts"]);
});
