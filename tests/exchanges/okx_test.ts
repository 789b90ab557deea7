import { deepEqual, equal, match, ok } from "node:assert/strict";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { OKX_KEY, type OkxServer, startOkx } from "../support/okx_server.ts";
import { openTestPoller } from "../support/scan_steps.ts";

Deno.test("an exchange with another API: records, a deposit and a withdraw at OKX, each to its end", async (t) => {
  await using okx = startOkx();
  await using fixture = await openExchangeFixture({ okx: okx.url });
  const { realm, funded } = fixture;
  const { send, identity } = realm.admin;
  const body = { ramp: "okx", identity, authentication: OKX_KEY };
  const { id: ramp } = (await send("POST", "/v1/ramps", body)).body;
  const wanted = { account: funded.account, asset: "ETH" };
  const order = async (kind: string, value: string) => {
    const answer = await send("POST", `/v1/ramps/${ramp}/${kind}`, { ...wanted, value });
    equal(answer.status, 201, answer.text);
    return answer.body.id;
  };

  await t.step("a wrong passphrase is a refused key", async () => {
    const authentication = { ...OKX_KEY, password: "not-the-passphrase" };
    await send("PATCH", `/v1/ramps/${ramp}`, { authentication });
    await checkExternalRamp(fixture.context(), { ramp });
    const { body, text } = await send("GET", `/v1/ramps/${ramp}`);
    equal(body.status, "REFUSED");
    match(body.error.detail, /OKX refuses the key: .*PASSPHRASE incorrect/);
    ok(!text.includes("not-the-passphrase"));
    await send("PATCH", `/v1/ramps/${ramp}`, { authentication: OKX_KEY });
    await checkExternalRamp(fixture.context(), { ramp });
  });
  await t.step("its assets by our names", async () => {
    const { body } = await send("GET", `/v1/ramps/${ramp}/assets`);
    deepEqual(
      body,
      ["ETH", "USDT_TRON"].map((asset, i) => ({
        asset,
        ...{ currency: ["ETH", "USDT"][i], network: ["ETH", "TRC20"][i] },
        ...{ deposit: true, withdraw: true, minimum: "0.01", fee: "0.002" },
        withdraw_minimum: null,
        decimals: [8, 6][i],
      })),
    );
  });
  await t.step("a refusal under status 200 is a refusal", async () => {
    const row = await fixture.advance(await order("deposit", "1001"));
    deepEqual([row.status, row.error?.code], ["FAILED", "upstream.failed"]);
    match(row.error.detail, /Insufficient balance/);
  });
  const of = { okx, fixture, order };
  await t.step(
    "a deposit is asked for under our id and DONE when it is credited",
    () => depositsOnce(of),
  );
  await t.step(
    "a withdraw is paid to the address that it names, and DONE when it has credited it",
    () => withdrawsOnce(of),
  );
});

interface Case {
  okx: OkxServer;
  fixture: ExchangeFixture;
  order(kind: string, value: string): Promise<string>;
}

async function depositsOnce({ okx, fixture, order }: Case): Promise<void> {
  const { realm, funded } = fixture;
  using poller = openTestPoller(realm);
  const id = await order("deposit", "1.20000001");
  equal((await fixture.advance(id)).exchange.reference, "10000");
  const [paid] = okx.withdrawals;
  deepEqual([paid.amt, paid.clientId, paid.chain], [
    "1.20000001",
    id.replaceAll("-", ""),
    "ETH-ERC20",
  ]);
  const hash = await funded.anvil.send({ to: paid.to, value: 1_200_000_010_000_000_000n });
  Object.assign(paid, { state: "2", txId: hash });
  await fixture.advance(id);
  await funded.anvil.mine(4);
  await poller.follow();
  const done = await fixture.advance(id);
  deepEqual([done.status, done.exchange.status, done.exchange.fee], ["DONE", "ok", "0.002"]);
  equal(okx.withdrawals.length, 1);
}

async function withdrawsOnce({ okx, fixture, order }: Case): Promise<void> {
  const { realm, funded } = fixture;
  const { send } = realm.admin;
  const id = await order("withdraw", "2");
  const sent = await fixture.advance(id);
  equal(sent.address, okx.address);
  equal((await funded.finish(sent.withdrawal)).status, "DONE");
  const { body } = await send("GET", `/v1/withdrawals/${sent.withdrawal}`);
  okx.deposits.push({
    ...{ depId: "77", ccy: "ETH", chain: "ETH-ERC20", amt: "2", to: okx.address },
    ...{ txId: body.chain.hash, ts: `${Date.now()}`, state: "2" },
  });
  const done = await fixture.advance(id);
  deepEqual([done.status, done.exchange.reference, done.exchange.amount], ["DONE", "77", "2"]);
}
