import { deepEqual, equal } from "node:assert/strict";
import { judgeOf, operationsOf } from "../fuzz/document.ts";
import { type Answer, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** The fault of an answer by the document; null if there is none. */
async function judged(
  realm: TestRealm,
): Promise<(operation: string, answer: Answer, reduced?: boolean) => string | null> {
  const { body: document } = await realm.nobody("GET", "/v1/openapi.json");
  const operations = operationsOf(document);
  const judge = judgeOf(document);
  return (id, { status, headers, body }, reduced = false) => {
    const { responses } = operations.find((one) => one.id === id)!;
    const type = headers.get("content-type")!.split(";")[0];
    const media = responses[status]?.content?.[type];
    if (media === undefined) return `${status} of ${type} is not in the document`;
    return judge.answer(media.schema, body, reduced);
  };
}

const test = sharing("openapi truth in one realm");

test("answers cut down by fields and grown by populate are in the OpenAPI document", async (realm) => {
  const fault = await judged(realm);
  const { send } = realm.admin;
  const { account } = await realm.currency("100");
  const get = async (id: string, path: string, reduced: boolean) =>
    equal(fault(id, await send("GET", path), reduced), null, path);
  await get("getAccount", `/v1/accounts/${account}`, false);
  await get("getAccount", `/v1/accounts/${account}?fields=id`, true);
  await get("getAccount", `/v1/accounts/${account}?fields=balance.total,holder.id`, true);
  await get("getAccount", `/v1/accounts/${account}?populate=holder,owner,ramp,address`, false);
  await get("listAccounts", "/v1/accounts?fields=id", true);
  await get("findCurrencies", "/v1/currencies/all?populate=account", false);
  await get("findCurrencies", "/v1/currencies/all?fields=account&populate=account", true);
  await get("findTransactions", "/v1/transactions/all?populate=source.account", false);
  // A cut answer is none where fields was not asked for.
  const cut = await send("GET", `/v1/accounts/${account}?fields=id`);
  equal(fault("getAccount", cut), " must have required property 'type'");
});

test("deposit applications as a list, as a page and cut down are in the OpenAPI document", async (realm) => {
  const fault = await judged(realm);
  for (const [query, reduced] of [["", false], ["?page=1", false], ["?fields=id", true]] as const) {
    const answer = await realm.admin.send("GET", `/v1/apps/deposit${query}`);
    equal(fault("listDepositApplications", answer, reduced), null, query);
  }
});

test("a batch each by itself answers 200 as the OpenAPI document says", async (realm) => {
  const fault = await judged(realm);
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const one = { source: { account }, destination: { account: other }, value: "1" };
  for (const [atomic, status] of [[false, 200], [true, 201]] as const) {
    const transactions = atomic ? [one] : [one, { ...one, value: "1000" }];
    const answer = await realm.admin.send("POST", "/v1/transactions/batch", {
      atomic,
      transactions,
    });
    equal(answer.status, status, answer.text);
    equal(fault("createTransactionBatch", answer), null);
  }
});

test("refusals of a party that is not there are in the OpenAPI document", async (realm) => {
  const fault = await judged(realm);
  const { send } = realm.admin;
  const { account } = await realm.currency("100");
  const { body: block } = await send("POST", `/v1/accounts/${account}/blocks`, { amount: "1" });
  const capture = await send("POST", `/v1/accounts/${account}/blocks/${block.id}/capture`, {
    destination: { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" },
  });
  equal(capture.body.code, "address.not_found");
  equal(fault("captureBlock", capture), null);
  const user = await send("POST", `/v1/realms/${realm.id}/users`, {
    username: "x",
    password: "a long enough password",
    identity: "01a1fb9d-f797-7000-8000-f205583ab8e1",
  });
  deepEqual([user.body.code, user.body.errors[0].path], ["identity.not_found", "/identity"]);
  equal(fault("createRealmUser", user), null);
});

test("a 404 for what the body names has the path of that field", async (realm) => {
  const fault = await judged(realm);
  const { send } = realm.admin;
  const name = "TEAPOT";
  const { body: currency } = await send("POST", "/v1/currencies", { name, supply: "100" });
  const { account } = currency;
  const gone = await realm.account({ asset: name });
  equal((await send("DELETE", `/v1/accounts/${gone}`)).status, 200);
  const { body: block } = await send("POST", `/v1/accounts/${account}/blocks`, { amount: "1" });
  const capture = `/v1/accounts/${account}/blocks/${block.id}/capture`;
  const cases = [
    ...refusedDestinations({ account, gone, capture }),
    ...refusedNames(account, `currencies/${currency.id}`),
  ];
  for (const { operation, path, body, at } of cases) {
    const refused = await send("POST", path, body);
    const named = `${path} ${JSON.stringify(body)} ${refused.text}`;
    deepEqual([refused.status, refused.body.errors?.[0].path], [404, at], named);
    equal(fault(operation, refused), null, named);
  }
  const { send: ask } = await realm.user();
  const move = { destination: { account }, value: "1" };
  const [hidden, missing] = await Promise.all(
    [account, NOTHING].map((source) =>
      ask("POST", "/v1/transactions", { ...move, source: { account: source } })
    ),
  );
  const why = ({ body: { code, errors } }: typeof hidden) => [code, errors];
  deepEqual(why(hidden), why(missing), "nothing tells them apart");
});

const NOTHING = "01a1fb9d-f797-7000-8000-f205583ab8e1";
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

interface RefusedName {
  operation: string;
  path: string;
  body: Record<string, unknown>;
  /** The JSON pointer of the field that names nothing. */
  at: string;
}

/** Requests whose destination is not there. */
function refusedDestinations(
  { account, gone, capture }: { account: string; gone: string; capture: string },
): RefusedName[] {
  const named = [{ account: NOTHING }, { account: gone }, { alias: "nobody" }, {
    address: ADDRESS,
  }];
  return named.flatMap((destination) => {
    const at = `/destination/${Object.keys(destination)[0]}`;
    const move = { source: { account }, destination, value: "1" };
    const batch = { atomic: true, transactions: [move] };
    const app = { asset: "ETH", destination };
    return [
      { operation: "createTransaction", path: "/v1/transactions", body: move, at },
      {
        ...{ operation: "createTransactionBatch", path: "/v1/transactions/batch", body: batch },
        at: `/transactions/0${at}`,
      },
      { operation: "captureBlock", path: capture, body: { destination }, at },
      { operation: "createDepositApplication", path: "/v1/apps/deposit", body: app, at },
    ];
  });
}

/** Requests that name something else that is not there. */
function refusedNames(account: string, currency: string): RefusedName[] {
  const id = NOTHING;
  const transfer = { destination: { account }, value: "1" };
  const payment = { destination: { address: ADDRESS }, value: "1" };
  const estimate = { address: ADDRESS, amount: "1" };
  const token = { symbol: "COIN" };
  const deploy = { ...token, name: "Coin", supply: "1", decimal_places: 6 };
  const ramp = { ramp: "kraken", authentication: { api_key: "key", secret: "secret" } };
  const alias = { alias: "code" };
  const one = { amount: "1" };
  const cover = { reason: "gas" };
  const ask = (operation: string, path: string, body: Record<string, unknown>, at: string) => {
    return { operation, path: `/v1/${path}`, body, at };
  };
  return [
    ...[{ account: id }, { alias: "nobody" }].flatMap((source) => {
      const at = `/source/${Object.keys(source)[0]}`;
      return [
        ask("createTransaction", "transactions", { ...transfer, source }, at),
        ask("createWithdrawal", "withdrawals", { ...payment, source, asset: "ETH" }, at),
      ];
    }),
    ask("createAlias", "aliases", { ...alias, type: "account", account: id }, "/account"),
    ask("createAlias", "aliases", { ...alias, type: "identity", identity: id }, "/identity"),
    ask("issueCurrency", `${currency}/issue`, { ...one, account: id }, "/account"),
    ask("destroyCurrency", `${currency}/destroy`, { ...one, account: id }, "/account"),
    ask("estimateWithdrawal", "withdrawals/estimate", { ...estimate, account: id }, "/account"),
    ask("deployToken", "fungible/token/deploy", { ...deploy, account: id }, "/account"),
    ask("registerToken", "fungible/token/register", { ...token, account: id }, "/account"),
    ask("createRamp", "ramps", { ...ramp, identity: id }, "/identity"),
    ask("createCover", "solvency/cover", { ...cover, account: id }, "/account"),
    ask("createCover", "solvency/cover", { ...cover, account, realm: id }, "/realm"),
    ask("createPersonIdentity", "identities/person", { person: {}, company: 999_999 }, "/company"),
  ];
}

test("a 404 for what the query names has its parameter's name", async (realm) => {
  const fault = await judged(realm);
  const { send } = realm.admin;
  const made = { url: "https://example.com/hook", events: ["*"] };
  const { body: webhook } = await send("POST", "/v1/webhooks", made);
  const estimate = `/v1/withdrawals/estimate?address=${ADDRESS}&amount=1`;
  const cases = [
    ["getWithdrawalEstimate", `${estimate}&account=${NOTHING}`, "/account"],
    ["listDeliveries", `/v1/webhooks/${webhook.id}/deliveries?after=1`, "/after"],
  ];
  for (const [operation, path, at] of cases) {
    const refused = await send("GET", path);
    const [named] = refused.body.errors;
    deepEqual([refused.status, named.path, named.in], [404, at, "query"], refused.text);
    equal(fault(operation, refused), null, path);
  }
});

test("each route names the one key that it takes in the OpenAPI document", async (realm) => {
  const { body } = await realm.nobody("GET", "/v1/openapi.json");
  const keys = (path: string, method: string) =>
    body.paths[path][method].security.flatMap(Object.keys);
  deepEqual(keys("/v1/auth/login", "post"), ["applicationKey", "bearer"]);
  deepEqual(keys("/v1/accounts", "get"), ["userKey", "bearer"]);
  deepEqual(keys("/v1/realms", "post"), ["platformKey", "bearer"]);
  deepEqual(keys("/v1/stops", "post"), ["platformKey", "userKey", "bearer"]);
  deepEqual(keys("/health/live", "get"), []);
});
