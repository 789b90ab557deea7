/** Stops that name a destination, by any of its names. */
import { deepEqual, equal } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { rich } from "../support/nodes/anvil.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";

const ETHER = 10n ** 18n;

Deno.test("a stop of a destination holds by whatever of its addresses and accounts it is named and paid", async () => {
  await using fixture = await openRampFixture();
  const { send } = fixture.realm.admin;
  const ramp = await fixture.ramp();
  const [shop, payer] = [await virtualOf(fixture, ramp.id), await virtualOf(fixture, ramp.id)];
  const served = await fixture.address(shop);
  const bare = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: ramp.address, value: 20n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "20");
  const give = { source: { account: ramp.id }, destination: { account: payer }, value: "5" };
  equal((await send("POST", "/v1/transactions", give)).status, 201);
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  const source = { account: payer };
  const codes = async () => {
    const asked = [
      { path: "transactions", destination: { account: shop } },
      { path: "transactions", destination: { address: served.address } },
      { path: "transactions", destination: { address: bare.address } },
      { path: "withdrawals", destination: { address: served.address } },
      { path: "withdrawals", destination: { address: bare.address } },
      { path: "withdrawals", destination: { address: rich(6).address } },
    ];
    const found: string[] = [];
    for (const { path, destination } of asked) {
      const body = { source, destination, value: "0.1" };
      const answer = await send("POST", `/v1/${path}?dry_run=true`, body);
      found.push(answer.status === 201 ? "goes" : answer.body.code);
    }
    return found;
  };
  const no = "stop.active";
  const cases: [Record<string, string>, string[]][] = [
    [{ destination: shop }, [no, no, "goes", no, "goes", "goes"]],
    [{ destination: served.address.toLowerCase() }, [no, no, "goes", no, "goes", "goes"]],
    [{ destination: served.id }, [no, no, "goes", no, "goes", "goes"]],
    [{ account: shop }, [no, no, "goes", no, "goes", "goes"]],
    // Withdrawals by way of the ramp are not sent to its addresses.
    [{ destination: bare.address }, ["goes", "goes", no, "goes", no, "goes"]],
    [{ destination: bare.id }, ["goes", "goes", no, "goes", no, "goes"]],
    [{ destination: rich(6).address }, ["goes", "goes", "goes", "goes", "goes", no]],
  ];
  for (const [narrow, expected] of cases) {
    const made = await send("POST", "/v1/stops", { what: "moves", reason: "test", ...narrow });
    equal(made.status, 201, made.text);
    deepEqual(await codes(), expected, JSON.stringify(narrow));
    equal((await send("DELETE", `/v1/stops/${made.body.id}`)).status, 200);
  }
  deepEqual(await codes(), Array(6).fill("goes"));
});

async function virtualOf({ realm }: RampFixture, ramp: string): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
    ramp,
  });
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
}
