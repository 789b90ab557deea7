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
