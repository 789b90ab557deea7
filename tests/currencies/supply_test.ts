/** The law of supply, and the names that currencies may have. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { counterparty } from "../../domain/ledger/posting.ts";
import { bookAsOwner } from "../support/booking.ts";
import { credit } from "../support/evm_fixture.ts";
import { type Answer, rowsOf, type TestRealm, testRealm, type TestUser } from "../support/realm.ts";

function told({ status, body }: Answer) {
  return [status, body.code];
}

/** A token whose deployment was asked for, of a symbol and a supply. */
const TOKEN =
  `insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals, status,
    external, owner, created_at)
  select gen_random_uuid(), account, 'ETHEREUM', 'main', $2, $3::numeric, 18, 'pending', false,
    owner, created_at from currencies where id = $1`;

/** A currency of 1000, all issued, behind which a token stands of which 1000 exist. */
async function backed(realm: TestRealm) {
  const { send } = realm.admin;
  const { body } = await send("POST", "/v1/currencies", { name: "GOLD", supply: "1000" });
  await rowsOf(realm, TOKEN, [body.id, "GOLD_ETH", "1000"]);
  await rowsOf(realm, "update fungible_tokens set contract = '0x1', status = 'deployed'");
  await rowsOf(realm, "update fungible_tokens set currency = $1, status = 'registered'", [body.id]);
  const path = `/v1/currencies/${body.id}`;
  return {
    id: body.id,
    account: body.account,
    issue: (amount: string) => send("POST", `${path}/issue`, { amount }),
    destroy: async (amount: string) => {
      equal((await send("POST", `${path}/destroy`, { amount })).status, 200);
      const query = encodeURIComponent('{"type":"destroy"}');
      const found = await send("GET", `/v1/transactions/all?sort=-created_at&query=${query}`);
      return `/v1/transactions/${found.body[0].id}/revert`;
    },
    supply: async () => (await send("GET", path)).body.supply,
  };
}

Deno.test("reverting a destruction never issues more than there is of the token", async () => {
  await using realm = await testRealm();
  const gold = await backed(realm);
  const { send } = realm.admin;
  const first = await gold.destroy("400");
  equal((await gold.issue("400")).status, 200);
  for (const path of [`${first}?dry_run=true`, first]) {
    deepEqual(told(await send("POST", path, {})), [409, "ramp.assets_insufficient"]);
  }
  deepEqual([await gold.supply(), (await realm.balance(gold.account)).total], ["1000", "1000"]);
  const second = await gold.destroy("100");
  equal((await send("POST", second, {})).status, 201, "there is room for it");
  deepEqual(told(await gold.issue("1")), [409, "ramp.assets_insufficient"]);
  const third = await gold.destroy("50");
  const crowd = await Promise.all([
    send("POST", third, {}),
    ...Array.from({ length: 4 }, () => gold.issue("50")),
  ]);
  equal(crowd.filter(({ status }) => status < 300).length, 1);
  equal(await gold.supply(), "1000");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("the database issues no more than there is of a token either", async () => {
  await using realm = await testRealm();
  const { id } = await backed(realm);
  const scarce = { constraint_name: "currencies_backed" };
  const more = "update currencies set supply = supply + 1 where id = $1";
  await rejects(rowsOf(realm, more, [id]), scarce);
  await rowsOf(realm, TOKEN, [id, "SCARCE_ETH", "999"]);
  const deploy = "set contract = '0x2', status = 'deployed' where status = 'pending'";
  await rowsOf(realm, `update fungible_tokens ${deploy}`);
  const register = "set currency = $1, status = 'registered' where status = 'deployed'";
  await rejects(rowsOf(realm, `update fungible_tokens ${register}`, [id]), scarce);
});

Deno.test("value that came from the chain is not destroyed beyond the issued amount", async () => {
  await using realm = await testRealm();
  const gold = await backed(realm);
  const { send } = realm.admin;
  await credit(realm, gold.account, "1500");
  const beyond = { amount: "1000.5" };
  const path = `/v1/currencies/${gold.id}`;
  deepEqual(told(await send("POST", `${path}/destroy`, beyond)), [409, "balance.insufficient"]);
  await gold.destroy("600");
  const query = encodeURIComponent('{"type":"issue"}');
  const [issue] = (await send("GET", `/v1/transactions/all?query=${query}`)).body;
  const revert = await send("POST", `/v1/transactions/${issue.id}/revert`, {});
  deepEqual(told(revert), [409, "balance.insufficient"]);
  equal(await gold.supply(), "400");
});

Deno.test("nothing of a deleted currency is issued by a revert", async () => {
  await using realm = await testRealm();
  const { send } = realm.admin;
  const { body } = await send("POST", "/v1/currencies", { name: "GOLD", supply: "5" });
  await send("POST", `/v1/currencies/${body.id}/destroy`, { amount: "5" });
  equal((await send("DELETE", `/v1/currencies/${body.id}`)).status, 200);
  const rows = (await send("GET", "/v1/transactions/all")).body;
  for (const { id } of rows) {
    deepEqual(told(await send("POST", `/v1/transactions/${id}/revert`, {})), [
      404,
      "currency.not_found",
    ]);
  }
});

Deno.test("a currency is not deleted while anybody holds value of it, though all that was issued was destroyed", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("5");
  const [{ id }] = await rowsOf<{ id: string }>(
    realm,
    "select id from currencies where name = $1",
    [name],
  );
  const asset = { code: name, decimals: 18, testnet: false };
  const actor = { ...realm.admin.actor, at: Date.now() };
  const fees = await realm.command((tx) => counterparty(tx, actor, "fees", asset), {
    lockLedger: true,
  });
  const holder = await realm.account({ asset: name });
  // As for a payment that a restore has found, `fees` bears what a holder got besides.
  const borne = [{ source: fees, destination: holder, amount: "2" }];
  equal(await bookAsOwner(realm, "return", borne), null);
  const path = `/v1/currencies/${id}`;
  equal((await realm.admin.send("POST", `${path}/destroy`, { amount: "5" })).status, 200);
  deepEqual([(await realm.balance(account)).total, (await realm.balance(holder)).total], [
    "0",
    "2",
  ]);
  const refused = await realm.admin.send("DELETE", path);
  deepEqual([refused.status, refused.body.code], [409, "account.not_empty"]);
  await rejects(
    realm.command((tx) => tx`update currencies set deleted_at = now() where id = ${id}`),
    /value of it is in circulation/,
  );
  equal(
    await bookAsOwner(realm, "return", [{ ...borne[0], source: holder, destination: fees }]),
    null,
  );
  equal((await realm.admin.send("DELETE", path)).status, 200);
});

Deno.test("no currency is called like an asset, an accounting currency or a token of a chain", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  const refused = [
    ...["USDT_BSC", "usdt_bsc", "USDC_ETH", "DAI_MATIC", "X_CELO", "a_tron", "SOL_SOL", "GOLD-ETH"],
    ...["BTC", "btc", "Eth", "usdt", "UsDc", "USD", "usd", "sol", "S0L", "SOl", "D0GE", "d0ge"],
    ...["ETH_", "_BTC", "BTC-", "USDC_", "-sol-", "__USD", "GOLD_ETH_", "x-sol-"],
    ...["bnb", "TRX", "B1F", "BlF", "usdt_b5c".replace("5", "S"), "USDT_S0L", "USDT_SOl"],
    ...["1tc", "1TC", "so1", "ce1o", "Itc", "usdt_so1", "usdt_ceI0", "1SK", "lSK", "pIn"],
  ];
  for (const name of refused) {
    const made = await user.send("POST", "/v1/currencies", { name, supply: "1" });
    deepEqual(told(made), [409, "currency.taken"], name);
  }
  for (const name of ["G", "x".repeat(41), "GÖLD", "USDТ", "GO LD", "GOLD.", ""]) {
    const made = await user.send("POST", "/v1/currencies", { name, supply: "1" });
    deepEqual(told(made), [400, "request.invalid"], name);
  }
  for (
    const name of [
      "GO",
      "gold",
      "GOLD",
      "x".repeat(40),
      "ETHOS",
      "POINTS_2026",
      "my-points",
      "PIN",
      "LSK",
    ]
  ) {
    const made = await user.send("POST", "/v1/currencies", { name, supply: "1" });
    equal(made.status, 201, `${name} ${made.text}`);
  }
});

Deno.test("no customer calls a currency so that it is taken for another user's", async () => {
  await using realm = await testRealm();
  const [owner, rival] = [await realm.user(), await realm.user({ role: "admin" })];
  const make = async (by: TestUser, name: string) =>
    told(await by.send("POST", "/v1/currencies", { name, supply: "1" }));
  for (const name of ["GOLD", "Silver-1", "PAL"]) equal((await make(owner, name))[0], 201);
  const refused = [
    ...["gold", "G0LD", "Gold", "GOlD_", "-GOLD", "g0ld--", "go1d", "GO1D", "goId"],
    ...["silver-1", "SILVER_1", "Silver-l", "Si1ver-I", "Silver-L"],
  ];
  const taken = [409, "currency.taken"];
  for (const name of refused) deepEqual(await make(rival, name), taken, name);
  // Those who ask at once are no exception, nor is a currency that was deleted.
  const both = await Promise.all([make(rival, "Cent"), make(owner, "CENT")]);
  deepEqual(both.map(([status]) => status).sort(), [201, 409]);
  const { body } = await owner.send("POST", "/v1/currencies", { name: "TIN" });
  equal((await owner.send("DELETE", `/v1/currencies/${body.id}`)).status, 200);
  deepEqual(await make(rival, "tin"), taken);
  for (const name of ["GOLDEN", "SILVER", "Silver-2", "PAI"]) {
    equal((await make(rival, name))[0], 201, name);
  }
  // Its owner may have both, and the house is kept from no name by a customer.
  equal((await make(owner, "gold"))[0], 201);
  equal((await make(realm.admin, "Gold"))[0], 201);
});
