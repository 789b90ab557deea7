import { deepEqual, equal, match } from "node:assert/strict";
import { ERROR_CODES, type ErrorCode } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { sources } from "../../lint/check.ts";
import { PROBLEMS } from "../../routes/http/problems.ts";
import { type Answer, PASSWORD, type TestRealm, testRealm } from "../support/realm.ts";

/** The statuses that the contract promises; an entity's `not_found` is 404. */
const STATUSES: Readonly<Record<number, string>> = {
  400: "request.malformed request.invalid query.invalid",
  401: "auth.missing auth.invalid auth.expired auth.revoked auth.credentials",
  402: "credits.exhausted",
  403: "permission.role permission.scope permission.owner",
  405: "method.not_allowed",
  406: "request.not_acceptable",
  409: "balance.insufficient account.frozen account.inactive account.not_enabled " +
    "account.not_empty account.no_ramp account.asset_mismatch ramp.assets_insufficient " +
    "ramp.gas_insufficient alias.taken username.taken person.taken company.taken sync.running currency.taken address.assigned " +
    "rate.unavailable withdrawal.not_cancelable withdrawal.below_fee user.last_admin " +
    "transaction.reverted block.closed condition.failed reference.taken asset.suspended " +
    "token.pending entity.deleted version.conflict withdrawal.fee_exceeded stop.active",
  413: "request.too_large",
  415: "request.media_type",
  422: "idempotency.key_reused address.invalid asset.unknown asset.no_testnet " +
    "token.unsupported_chain token.invalid chain.not_configured recipient.invalid recipient.missing " +
    "recipient.no_interaction",
  429: "rate.limited",
  500: "internal",
  501: "extension.disabled",
  502: "upstream.failed",
  410: "event.expired transaction.archived time.archived",
  503: "chain.quarantined chain.stale service.overloaded",
  504: "upstream.timeout",
};

/** Codes that need a chain or a long story, with the file whose test produces them. */
const ELSEWHERE: Partial<Record<ErrorCode, string>> = {
  "address.not_found": "tests/deposits/api_test.ts",
  "withdrawal.not_found": "tests/withdrawals/api_test.ts",
  "transfer.not_found": "tests/exchanges/api_test.ts",
  "consolidation.not_found": "tests/consolidations/api_test.ts",
  "deposit.not_found": "tests/scanning/scanner_test.ts",
  "ramp.not_found": "tests/accounts/api_test.ts",
  "rate.not_found": "tests/currencies/rates_test.ts",
  "account.no_ramp": "tests/deposits/api_test.ts",
  "ramp.assets_insufficient": "tests/currencies/tokens_test.ts",
  "ramp.gas_insufficient": "tests/withdrawals/tokens_test.ts",
  "address.assigned": "tests/deposits/api_test.ts",
  "withdrawal.not_cancelable": "tests/withdrawals/lifecycle_test.ts",
  "withdrawal.below_fee": "tests/withdrawals/lifecycle_test.ts",
  "asset.suspended": "tests/audit/solvency_test.ts",
  "chain.quarantined": "tests/http/problems_test.ts",
  "stop.not_found": "tests/stops/api_test.ts",
  "login.not_found": "tests/identity/logins_test.ts",
  "job.not_found": "tests/jobs/dead_jobs_test.ts",
  "stop.active": "tests/stops/api_test.ts",
  "withdrawal.fee_exceeded": "tests/withdrawals/costs_test.ts",
  "token.pending": "tests/currencies/tokens_test.ts",
  "address.invalid": "tests/currencies/tokens_test.ts",
  "token.unsupported_chain": "tests/currencies/tokens_test.ts",
  "token.invalid": "tests/currencies/tokens_test.ts",
  "upstream.timeout": "tests/exchanges/api_test.ts",
  "upstream.failed": "tests/withdrawals/lifecycle_test.ts",
  "message.not_found": "tests/messages/api_test.ts",
  "recipient.invalid": "tests/messages/bad_input_test.ts",
  "recipient.missing": "tests/messages/api_test.ts",
  "recipient.no_interaction": "tests/messages/api_test.ts",
  "chain.not_configured": "tests/deposits/api_test.ts",
  "chain.stale": "tests/withdrawals/api_test.ts",
  "version.conflict": "tests/consolidations/api_test.ts",
  "webhook.not_found": "tests/webhooks/api_test.ts",
  "delivery.not_found": "tests/webhooks/api_test.ts",
  "extension.disabled": "tests/webhooks/api_test.ts",
  "event.expired": "tests/webhooks/streams_test.ts",
  "transaction.archived": "tests/ledger/archive_test.ts",
  "time.archived": "tests/ledger/archive_test.ts",
  "person.not_found": "tests/people/persons_test.ts",
  "person.taken": "tests/people/persons_test.ts",
  "company.not_found": "tests/people/persons_test.ts",
  "company.taken": "tests/people/persons_test.ts",
  "sync.running": "tests/people/sync_test.ts",
};

/** Codes that the contract names for features which are not built yet: nothing throws them. */
const UNBUILT: readonly ErrorCode[] = [
  "rate.unavailable",
  "entity.deleted",
];

/** The scene that produces a code: a realm with two accounts and a user. */
interface Scene {
  realm: TestRealm;
  asset: string;
  /** Holds 10. */
  rich: string;
  poor: string;
}

type Provoke = (scene: Scene) => Promise<Answer>;

const user = (username: string) => ({ username, password: PASSWORD });
const post = (path: string, body: unknown = {}, headers = {}): Provoke => ({ realm }) =>
  realm.admin.send("POST", path, body, headers);
const get = (path: string, headers = {}): Provoke => ({ realm }) =>
  realm.admin.send("GET", path, undefined, headers);
const move = (more: (scene: Scene) => object): Provoke => (scene) => {
  const { realm, rich, poor } = scene;
  const body = { source: { account: rich }, destination: { account: poor }, value: "1" };
  return realm.admin.send("POST", "/v1/transactions", { ...body, ...more(scene) });
};
const me = ({ realm }: Scene, key: string) =>
  realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": key });

const AUTH: Partial<Record<ErrorCode, Provoke>> = {
  "request.malformed": post("/v1/identities", "{"),
  "request.invalid": post("/v1/identities", { x: 1 }),
  "query.invalid": get("/v1/auth/me?x=1"),
  "route.not_found": get("/v1/nothing"),
  "method.not_allowed": ({ realm }) => realm.admin.send("PUT", "/v1/identities"),
  "request.not_acceptable": get("/v1/auth/me", { accept: "image/png" }),
  "request.too_large": post("/v1/identities", { data: "x".repeat(1_100_000) }),
  "request.media_type": post("/v1/identities", "a=1", { "content-type": "text/plain" }),
  "auth.missing": ({ realm }) => realm.nobody("GET", "/v1/auth/me"),
  "auth.invalid": (scene) => me(scene, "garbage"),
  "auth.expired": async (scene) => {
    const { realm } = scene;
    const claims = claimsOf(realm.made.admin, realm.made.realm, Date.now() - 10_000, 5);
    return await me(scene, await realm.services.signingKeys.sign(claims));
  },
  "auth.revoked": async ({ realm }) => {
    const leaver = await realm.user();
    await leaver.send("POST", "/v1/auth/logout");
    return await leaver.send("GET", "/v1/auth/me");
  },
  "auth.credentials": ({ realm }) =>
    realm.nobody("POST", "/v1/auth/login", {
      ...user("nobody"),
      realm_key: realm.made.realm.realm_key,
    }, { "x-api-key": realm.made.applicationKey }),
  "permission.role": async ({ realm }) =>
    await (await realm.user()).send("POST", "/v1/users", user("x")),
  "permission.scope": async ({ realm }) =>
    await (await realm.user({ role: "admin" })).send("GET", "/v1/audit"),
  "permission.owner": async ({ realm, rich }) =>
    await (await realm.user({ scope: "realm" })).send("POST", `/v1/accounts/${rich}/freeze`),
  "idempotency.key_reused": async ({ realm }) => {
    const key = { "idempotency-key": "k" };
    await realm.admin.send("POST", "/v1/identities", {}, key);
    return await realm.admin.send("POST", "/v1/identities", { country: "DE" }, key);
  },
  "internal": async ({ realm }) => {
    realm.services.log = () => {};
    const failing = Promise.reject(new Error("select secret from somewhere"));
    failing.catch(() => {});
    realm.services.signingKeys.published = () => failing;
    return await realm.nobody("GET", "/.well-known/jwks.json");
  },
  "service.overloaded": async ({ realm }) => {
    realm.services.log = () => {};
    const failing = Promise.reject(Object.assign(new Error(), { code: "57P03" }));
    failing.catch(() => {});
    realm.services.signingKeys.published = () => failing;
    return await realm.nobody("GET", "/.well-known/jwks.json");
  },
  "rate.limited": async ({ realm }) => {
    await realm.operator("PATCH", `/v1/realms/${realm.id}`, { tier: "free" });
    const all = Array.from({ length: 60 }, () => realm.admin.send("GET", "/v1/auth/me"));
    return (await Promise.all(all)).find((answer) => answer.status === 429)!;
  },
  "credits.exhausted": async ({ realm }) => {
    await realm.services.platform.sql`insert into usage (realm, month, credits)
      values (${realm.id}, date_trunc('month', now() at time zone 'UTC')::date, 2000000)`;
    await realm.operator("PATCH", `/v1/realms/${realm.id}`, { tier: "pro" });
    return await realm.admin.send("GET", "/v1/auth/me");
  },
};

const LEDGER: Partial<Record<ErrorCode, Provoke>> = {
  "realm.not_found": ({ realm }) => realm.operator("GET", `/v1/realms/${newId(1)}`),
  "key.not_found": ({ realm }) => realm.operator("DELETE", `/v1/realms/${realm.id}/keys/x`),
  "user.not_found": get("/v1/users/x"),
  "identity.not_found": get("/v1/identities/x"),
  "account.not_found": get("/v1/accounts/x"),
  "alias.not_found": get("/v1/aliases/x"),
  "currency.not_found": get("/v1/currencies/x"),
  "transaction.not_found": get("/v1/transactions/x"),
  "token.not_found": get("/v1/fungible/token/x"),
  "block.not_found": ({ realm, rich }) =>
    realm.admin.send("DELETE", `/v1/accounts/${rich}/blocks/x`),
  "problem.not_found": get("/problems/x"),
  "balance.insufficient": move(() => ({ value: "11" })),
  "account.frozen": async (scene) => {
    await scene.realm.admin.send("POST", `/v1/accounts/${scene.rich}/freeze`);
    return await move(() => ({}))(scene);
  },
  "account.inactive": async (scene) => {
    await scene.realm.admin.send("POST", `/v1/accounts/${scene.poor}/deactivate`);
    return await move(() => ({}))(scene);
  },
  "account.not_enabled": async (scene) => {
    const { realm, asset } = scene;
    const body = { type: "virtual", asset };
    const { id } = (await realm.admin.send("POST", "/v1/accounts", body)).body;
    return await move(() => ({ destination: { account: id } }))(scene);
  },
  "account.not_empty": ({ realm, rich }) =>
    realm.admin.send("POST", `/v1/accounts/${rich}/deactivate`),
  "account.asset_mismatch": async (scene) => {
    const { account } = await scene.realm.currency("1");
    return await move(() => ({ destination: { account } }))(scene);
  },
  "alias.taken": async ({ realm }) => {
    await realm.admin.send("POST", "/v1/identities", { alias: "a" });
    return await realm.admin.send("POST", "/v1/identities", { alias: "a" });
  },
  "username.taken": post("/v1/users", user("admin@test.example")),
  "currency.taken": ({ realm, asset }) =>
    realm.admin.send("POST", "/v1/currencies", { name: asset, supply: "1" }),
  "user.last_admin": ({ realm }) => realm.admin.send("DELETE", `/v1/users/${realm.admin.id}`),
  "transaction.reverted": async (scene) => {
    const { id } = (await move(() => ({}))(scene)).body;
    const revert = () => scene.realm.admin.send("POST", `/v1/transactions/${id}/revert`);
    await revert();
    return await revert();
  },
  "block.closed": async ({ realm, rich }) => {
    const path = `/v1/accounts/${rich}/blocks`;
    const { id } = (await realm.admin.send("POST", path, { amount: "1" })).body;
    await realm.admin.send("DELETE", `${path}/${id}`);
    return await realm.admin.send("DELETE", `${path}/${id}`);
  },
  "condition.failed": move(() => ({ conditions: { source_available_gte: "100" } })),
  "reference.taken": async (scene) => {
    await move(() => ({ reference: "r" }))(scene);
    return await move(() => ({ reference: "r" }))(scene);
  },
  "asset.unknown": post("/v1/accounts", { type: "virtual", asset: "NO_SUCH_ASSET" }),
  "asset.no_testnet": post("/v1/accounts", { type: "virtual", asset: "USDT_TRON", testnet: true }),
};

Deno.test("every code has the status of the contract, a page, and a test", async () => {
  const expected = new Map<string, number>();
  for (const [status, codes] of Object.entries(STATUSES)) {
    for (const code of codes.split(" ")) expected.set(code, Number(status));
  }
  await using realm = await testRealm();
  for (const code of ERROR_CODES) {
    const status = expected.get(code) ?? (code.endsWith(".not_found") ? 404 : 0);
    equal(PROBLEMS[code].status, status, code);
    match(PROBLEMS[code].help, /^[A-Z][^\n]{10,}\.$/, `${code}: one line`);
    const page = await realm.nobody("GET", `/problems/${code}`);
    equal(page.status, 200);
    match(page.text, new RegExp(code.replaceAll(".", "\\.")));
  }
  for (const code of expected.keys()) equal(code in PROBLEMS, true, `${code} is in the contract`);
  const here = [...Object.keys(AUTH), ...Object.keys(LEDGER)];
  const listed = [...here, ...Object.keys(ELSEWHERE), ...UNBUILT].sort();
  deepEqual(listed, [...ERROR_CODES].sort(), "each code is provoked here, or listed once");
  for (const [code, file] of Object.entries(ELSEWHERE)) {
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    equal(text.includes(`"${code}"`), true, `${file} provokes ${code}`);
  }
});

Deno.test("nothing throws a code of an unbuilt feature", async () => {
  for (const file of await sources(["routes/", "domain/", "db/", "workers/"])) {
    if (["domain/errors.ts", "routes/http/problems.ts"].includes(file)) continue;
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    for (const code of UNBUILT) equal(text.includes(`"${code}"`), false, `${file} ${code}`);
  }
});

/** Those that leave the process or the realm unfit for the next. */
const SPOILING: readonly string[] = [
  "internal",
  "service.overloaded",
  "rate.limited",
  "credits.exhausted",
];

/** Provokes a code and checks every promise of its answer. */
async function examine(realm: TestRealm, code: string, provoke: Provoke): Promise<void> {
  const { name: asset, account: rich } = await realm.currency("10");
  const poor = await realm.account({ asset });
  const { status, body, text, headers } = await provoke({ realm, asset, rich, poor });
  equal(body.code, code, text);
  const kind = PROBLEMS[code as ErrorCode];
  equal(status, kind.status);
  deepEqual(
    [body.type, body.title, body.status, body.instance],
    [`http://purser.test/problems/${code}`, kind.title, status, headers.get("x-request-id")],
  );
  equal(headers.get("content-type"), "application/problem+json");
  equal(/select |postgres|\.ts:|stack/i.test(text), false, "nothing of the inside is told");
  if (status === 429 || status === 503) match(headers.get("retry-after") ?? "", /^\d+$/);
  if (status === 401) match(headers.get("www-authenticate") ?? "", /./);
  if (status === 405) match(headers.get("allow") ?? "", /GET/);
}

Deno.test("each code answers its cause", async (test) => {
  await using shared = await testRealm();
  for (const [code, provoke] of Object.entries({ ...AUTH, ...LEDGER })) {
    await test.step(code, async () => {
      if (!SPOILING.includes(code)) return await examine(shared, code, provoke);
      await using own = await testRealm();
      await examine(own, code, provoke);
    });
  }
});
