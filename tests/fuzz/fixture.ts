/**
 * Realm of a fuzz run: users of each kind, accounts with balances, a funded
 * ramp on a real node and a deposit that came in there.
 * @module
 */
import { openFundedRamp } from "../support/evm_fixture.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import type { Send, TestRealm, TestUser } from "../support/realm.ts";
import type { Json, Operation } from "./document.ts";
import type { Fuzz } from "./fuzzer.ts";
import type { Random } from "./random.ts";
import type { Request } from "./requests.ts";
import type { Known } from "./values.ts";

/** A fixture, ready for a run. */
export interface FuzzFixture extends AsyncDisposable {
  run: Pick<Fuzz, "document" | "known" | "senderOf" | "guard" | "between">;
}

/** Users that a run sends as; others take their place now and then. */
interface Others {
  user: TestUser;
  manager: TestUser;
}

/** Operations of users on themselves alone. */
const OWN = ["changePassword", "beginTotp", "confirmTotp", "getTotp", "deleteTotp"];

/** Builds a fixture. */
export async function openFuzzFixture(): Promise<FuzzFixture> {
  const funded = await openFundedRamp();
  const { realm, anvil } = funded;
  const { admin, operator } = realm;
  using poller = openTestPoller(realm);
  const { body: document } = await realm.nobody("GET", "/v1/openapi.json");
  const currency = await realm.currency("1000000", "FUZZ");
  const address = await admin.send("POST", `/v1/accounts/${funded.ramp}/address`, {});
  await realm.drain();
  await anvil.send({ to: address.body.address.address, value: 10n ** 17n });
  await anvil.mine(3);
  await poller.follow();
  const receiving: string[] = [];
  for (let i = 0; i < 3; i++) {
    receiving.push(await realm.account({ asset: "FUZZ", from: currency.account, total: "1000" }));
  }
  receiving.push(funded.account);
  const others = await makeOthers(realm);
  const known = await knownOf(realm, others, {
    accounts: [currency.account, funded.account, funded.ramp],
    funded: [currency.account, ...receiving],
    receiving,
  });
  const { body: [{ id: ownKey }] } = await operator("GET", `/v1/realms/${realm.id}/keys`);
  return {
    run: {
      document,
      known,
      senderOf: (operation, random) => senderOf(realm, others, document, operation, random),
      guard: (request, operation) => guard(request, operation, { admin, others, ownKey }),
      async between(sent) {
        await liftStops(admin);
        for (const id of known.get("funded")!) await restore(admin, id);
        if (sent % 500 !== 0) return;
        await realm.drain();
        Object.assign(others, await makeOthers(realm));
      },
    },
    [Symbol.asyncDispose]: () => funded[Symbol.asyncDispose](),
  };
}

async function makeOthers(realm: TestRealm): Promise<Others> {
  return {
    user: await realm.user(),
    manager: await realm.user({ role: "manage", scope: "realm" }),
  };
}

async function knownOf(
  realm: TestRealm,
  others: Others,
  accounts: Record<string, string[]>,
): Promise<Known> {
  const { body: { username } } = await realm.admin.send("GET", `/v1/users/${others.user.id}`);
  return new Map(Object.entries({
    ...accounts,
    "usernames": [username, "nobody", "s"],
    "emails": ["admin@test.example", "x@test.example"],
    "recipients": ["+14155552671", "ada@example.com"],
    "files": ["start.js", "swagger-ui.css", "x"],
    "realms": [realm.id],
    "realm keys": [realm.made.realm.realm_key],
    "users": [others.user.id, others.manager.id],
    "identities": [realm.admin.identity],
    "assets": ["FUZZ", "ETH", "USDC", "BTC"],
    "names": ["alice", "bob", "INV-1"],
    "webhooks": await made(realm, "/v1/webhooks", {
      url: "https://hooks.example/",
      events: ["account.enabled"],
    }),
    "companies": await made(realm, "/v1/identities/companies", { name: "Fuzz" }),
    "person": await made(realm, `/v1/identities/${realm.admin.identity}/person`, {
      firstName: "Ada",
    }),
    "problems": ["balance.insufficient", "x"],
  }));
}

/** Id of an entity that is made for the run. */
async function made(realm: TestRealm, path: string, body: unknown): Promise<string[]> {
  const answer = await realm.admin.send("POST", path, body);
  if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return [`${answer.body.id}`];
}

/** Chooses who sends: mostly somebody whom the operation is for. */
function senderOf(
  realm: TestRealm,
  others: Others,
  document: Json,
  { id, path, method }: Operation,
  random: Random,
): { name: string; send: Send } {
  const as = (name: string, send: Send) => ({ name, send });
  if (id === "logOut") return as("user", others.user.send);
  if (/^\/v1\/auth\/.*login$/.test(path)) {
    const key = { "x-api-key": realm.made.applicationKey };
    return as(
      "application",
      (verb, at, body, headers) => realm.nobody(verb, at, body, { ...key, ...headers }),
    );
  }
  if (random.chance(0.03)) return as("nobody", realm.nobody);
  if (OWN.includes(id) && random.chance(0.8)) return as("user", others.user.send);
  const { security } = document.paths[path][method.toLowerCase()];
  const takesOperator = security.some((one: object) => "platformKey" in one);
  if (takesOperator && random.chance(0.7)) return as("operator", realm.operator);
  if (random.chance(0.12)) return as("user", others.user.send);
  if (random.chance(0.08)) return as("manager", others.manager.send);
  return as("admin", realm.admin.send);
}

/** Keeps what the run lives on: its administrator, its application key, its tier. */
function guard(
  request: Request,
  { id, path, method }: Operation,
  { admin, others, ownKey }: { admin: TestUser; others: Others; ownKey: string },
): Request | null {
  if (path.includes("/users/{id}") && method !== "GET" && request.path.includes(admin.id)) {
    return null;
  }
  if (request.path.includes(ownKey) && method === "DELETE") return null;
  if (OWN.includes(id)) {
    return { ...request, path: request.path.replace(/(?<=\/users\/)[^/?]+/, others.user.id) };
  }
  // Realms of the run are made on the run's own server.
  if (id === "createRealm" && request.body?.includes("database_url")) return null;
  if (id !== "updateRealm") return request;
  return { ...request, body: request.body?.replaceAll('"tier"', '"tier_"') };
}

/** Accounts that the run lives on are used on, whatever was done to them. */
async function restore({ send }: TestUser, account: string): Promise<void> {
  const { status, body } = await send("GET", `/v1/accounts/${account}?scope=all,false`);
  if (status !== 200) throw new Error(`${account}: ${status}`);
  if (body.deleted) await send("POST", `/v1/accounts/${account}/undelete`);
  if (body.frozen) await send("POST", `/v1/accounts/${account}/unfreeze`);
  if (!body.active) await send("POST", `/v1/accounts/${account}/activate`);
}

/** Stops that the run has set would hold for all that comes after them. */
async function liftStops({ send }: TestUser): Promise<void> {
  const query = encodeURIComponent(JSON.stringify({ lifted_at: null }));
  const { body } = await send("GET", `/v1/stops/all?scope=all&query=${query}`);
  if (!Array.isArray(body)) return;
  for (const { id } of body) await send("DELETE", `/v1/stops/${id}`);
}
