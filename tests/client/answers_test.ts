/**
 * What the client makes of answers: typed problems, lists to their end, amounts with every digit.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import {
  type Answer,
  isProblem,
  type Operation,
  type ProblemCode,
  ProblemError,
  type Schemas,
} from "../../client/client.ts";
import { Decimal, sum } from "../../client/decimal.ts";
import { parseExactly } from "../../client/exact_json.ts";
import { PROBLEM_CODES } from "../../client/wire.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { PROBLEMS } from "../../routes/http/problems.ts";
import { clientOf, serve } from "../support/client_fixture.ts";
import { fc } from "../support/properties.ts";
import { sharing } from "../support/sharing.ts";

/** Two types that are the same. */
type Same<A, B> = [A, B] extends [B, A] ? true : never;

Deno.test("the codes of problems are those of the service, as values and as types", () => {
  deepEqual([...PROBLEM_CODES].sort(), Object.keys(PROBLEMS).sort());
  // Another type than true does not compile.
  const same: [
    Same<ProblemCode, ErrorCode>,
    Same<ProblemCode, (typeof PROBLEM_CODES)[number]>,
    Same<Schemas["NewTransaction"]["value"], string>,
    Same<Answer<Operation<"/v1/withdrawals/{id}", "get">>["amount"], string | undefined>,
    Same<Schemas["TransactionPage"]["pageSize"], number>,
  ] = [true, true, true, true, true];
  ok(same);
});

const test = sharing("answers, as the client gives them");

test("a refusal is an error with its code, its fields and its request", async (realm) => {
  await using service = serve(realm);
  const client = clientOf(service, realm.admin);
  const { name, account } = await realm.currency("1");
  const other = await realm.account({ asset: name });
  const body = { source: { account }, destination: { account: other }, value: "1.5" };
  const poor = await client.post("/v1/transactions", { body }).catch((error) => error);
  ok(poor instanceof ProblemError);
  ok(isProblem(poor, "balance.insufficient") && !isProblem(poor, "account.frozen"));
  deepEqual([poor.status, poor.method, poor.path], [409, "POST", "/v1/transactions"]);
  ok(poor.instance !== "" && poor.detail !== "" && poor.type.endsWith("/balance.insufficient"));
  const wrong = await client.post("/v1/transactions", { body: { ...body, value: "-1" } })
    .catch((error) => error);
  ok(isProblem(wrong, "request.invalid"));
  deepEqual(wrong.errors.map(({ path }) => path), ["/value"]);
  const nobody = clientOf(service, { key: "not-a-key" });
  const denied = await nobody.get("/v1/auth/me").catch((error) => error);
  ok(isProblem(denied, "auth.invalid"));
});

test("a key may be a function, which is asked before each call", async (realm) => {
  await using service = serve(realm);
  const users = [realm.admin, await realm.user()];
  const keys = users.map(({ key }) => key);
  const client = clientOf(service, realm.admin, { key: () => Promise.resolve(keys.shift()!) });
  for (const { id } of users) equal((await client.get("/v1/auth/me")).id, id);
});

test("a list is read to its end, each item once, whether it has a cursor or pages", async (realm) => {
  await using service = serve(realm);
  const user = await realm.user();
  const client = clientOf(service, user);
  const { name } = await realm.currency("1");
  const made: string[] = [];
  for (let n = 0; n < 7; n++) made.push(await realm.account({ asset: name, by: user }));
  const seen: string[] = [];
  const query = { limit: 3, query: JSON.stringify({ asset: name }) };
  for await (const { id } of client.items("/v1/accounts/all", { query })) seen.push(id);
  deepEqual(seen, made);
  const sizes: number[] = [];
  for await (const part of client.pages("/v1/accounts", { query: { pageSize: 3 } })) {
    sizes.push(part.length);
  }
  deepEqual(sizes, [3, 3, 1]);
  const parts = await client.get("/v1/accounts/all", { query: { fields: ["asset"], limit: 1 } });
  deepEqual(parts.map(({ asset }) => asset), [name]);
  for await (const _ of client.items("/v1/accounts/all", { query: { limit: 1 } })) break;
  await rejects(async () => {
    for await (const _ of client.items("/v1/accounts/all", { query: { limit: 5000 } }));
  }, (error) => isProblem(error, "query.invalid"));
});

test("amounts have every digit, in both directions, where the wire has numbers too", async (realm) => {
  await using service = serve(realm);
  const client = clientOf(service, realm.admin);
  const name = `E${crypto.randomUUID().slice(0, 8)}`;
  const rate = "123456789012345.000000000000000001";
  const body = { name, supply: "1000000000000000000.000000000000000001", rate };
  const { id, account } = await client.post("/v1/currencies", { body });
  const currency = await client.get("/v1/currencies/{id}", { path: { id } });
  deepEqual([currency.rate, currency.supply], [rate, body.supply]);
  const { balance } = await client.get("/v1/accounts/{id}", { path: { id: `${account}` } });
  equal(balance.total, body.supply);
  const small = { rate: "0.000000000000000001" };
  const { data, headers } = await client.request("patch", "/v1/currencies/{id}", {
    path: { id },
    body: small,
  });
  equal(data.rate, small.rate);
  const known = { "if-none-match": headers.get("etag")! };
  const same = await client.request("get", "/v1/currencies/{id}", { path: { id }, header: known });
  deepEqual([same.status, same.data], [304, undefined]);
  const csv = await client.get("/v1/accounts/{id}/statement", {
    path: { id: `${account}` },
    query: { format: "csv" },
  });
  ok(csv.includes(body.supply));
  const range = { format: "csv", from: Date.now() - 86_400_000, to: Date.now() } as const;
  const exported = await client.get("/v1/accounts/all", { query: { ...range, scope: ["own"] } });
  ok(exported.includes(body.supply));
});

Deno.test("parseExactly() changes the numbers at its paths and nothing else", () => {
  const name = fc.constantFrom("value", "fee", "rows", "data", "*", 'va"lue', "a.b", "\\");
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one === 0 ? 0 : one),
      fc.integer(),
      fc.constantFrom(true, false, null),
      fc.string({ unit: "binary", maxLength: 9 }),
      fc.constantFrom('"value":1', "{", "]", ":5,", '\\"', "\\"),
    ),
    list: fc.array(tie("tree"), { maxLength: 3 }),
    object: fc.dictionary(name, tie("tree"), { maxKeys: 4 }),
    tree: fc.oneof({ depthSize: "small" }, tie("leaf"), tie("list"), tie("object")),
  }));
  const paths = ["value", "fee.value", "rows.*.value", "*.value", "rows.*.fee.value"];
  fc.assert(fc.property(tree, fc.constantFrom(0, 1), (value, indent) => {
    const text = JSON.stringify(value, null, indent);
    deepEqual(parseExactly(text), JSON.parse(text));
    deepEqual(parseExactly(text, paths), changed(JSON.parse(text), paths));
  }));
});

/** The slow and plain form of what {@link parseExactly} does, for numbers that a double holds. */
function changed(value: unknown, paths: readonly string[], at: readonly string[] = []): unknown {
  // A member whose name has a dot or is a star stands for no other.
  if (typeof value === "number") {
    return paths.includes(at.join(".")) ? JSON.stringify(value) : value;
  }
  if (Array.isArray(value)) return value.map((one) => changed(one, paths, [...at, "*"]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, changed(one, paths, [...at, name])]),
  );
}

Deno.test("decimals take texts alone, and write what the API takes", () => {
  equal(sum(["0.1", "0.2"]), "0.3");
  equal(sum(["1000000000000000000000000", "0.000000000000000001"]).length, 25 + 19);
  equal(new Decimal("0.000000000000000000001").toString(), "0.000000000000000000001");
  equal(new Decimal("2.50").toJSON(), "2.5");
  equal(new Decimal("1").div("3").toString(), `0.${"3".repeat(36)}`);
  // deno-lint-ignore no-explicit-any -- what JavaScript callers may do
  for (const number of [0.1, 1] as any[]) {
    let refused = false;
    try {
      new Decimal(number);
    } catch {
      refused = true;
    }
    ok(refused);
  }
});
