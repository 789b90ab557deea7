/** Realms, logins, users, keys, identities, persons and companies. @module */
import { totpCode } from "../../domain/security/totp.ts";
import type { World } from "./world.ts";

const PASSWORDS = { first: "correct horse battery", second: "another horse battery" };

/** Walks through those who hold, and those who act. */
export async function walkIdentity(world: World): Promise<void> {
  await realms(world);
  await users(world);
  await secondFactors(world);
  await logins(world);
  await identities(world);
  await persons(world);
  await companies(world);
}

async function realms(world: World): Promise<void> {
  const { ask, platformKey: key } = world;
  const made = await ask("createRealm", {
    key,
    body: {
      name: "Example Bank",
      country: "AT",
      accounting_currency: "EUR",
      zone: "EU",
      tier: "pro",
      admin: { email: "ops@example.com", password: PASSWORDS.first },
    },
  });
  const path = { id: made.id };
  await ask("listRealms", { key, query: { after: before(made.id), limit: 1 } });
  await ask("getRealm", { key, path });
  await ask("updateRealm", {
    key,
    path,
    body: { name: "Example Bank AG", withdrawals: { ETH: { loss_max: "0.5" } } },
  });
  await ask("createRealmKey", { key, path });
  await ask("deletePreviousRealmKeys", { key, path });
  const more = await ask("createApplicationKey", { key, path });
  await ask("listApplicationKeys", { key, path });
  await ask("deleteApplicationKey", { key, path: { ...path, key: more.id } });
  await ask("getAvailableCredits", { key, path });
  await ask("createRealmUser", {
    key,
    path,
    body: { username: "carla", password: PASSWORDS.first, roles: "manage", scopes: "realm" },
  });
}

/** The id just before another. */
function before(id: string): string {
  const digit = [...id].findLastIndex((one) => one !== "0" && one !== "-");
  const lower = (parseInt(id[digit], 16) - 1).toString(16);
  return id.slice(0, digit) + lower + id.slice(digit + 1).replaceAll("0", "f");
}

async function users(world: World): Promise<void> {
  const { ask, browse, applicationKey, realm } = world;
  const made = await ask("createUser", {
    body: {
      username: "bea",
      password: PASSWORDS.first,
      roles: "user",
      scopes: "own",
      channel: { email: "bea@example.com", sms: "+43660123456" },
      data: { department: "treasury" },
    },
  });
  const path = { id: made.id };
  await browse({ many: "Users", one: "User", id: made.id });
  await ask("updateUser", { path, body: { data: { department: "sales" } } });
  await ask("deleteUser", { path });
  await ask("undeleteUser", { path });
  const body = {
    realm_key: realm.made.realm.realm_key,
    username: "bea",
    password: PASSWORDS.first,
  };
  const { "x-api-key": key } = await ask("logInUser", { key: applicationKey, body });
  await ask("getCurrentUser", { key });
  const machine = await ask("createApiKey", {
    key,
    body: {
      name: "nightly statements",
      scopes: "own",
      expires_at: world.start + 90 * 24 * 3_600_000,
      addresses: ["192.0.2.0/24"],
    },
  });
  await browse({ many: "ApiKeys", one: "ApiKey", id: machine.id, key });
  await ask("deleteApiKey", { key, path: { id: machine.id } });
  await ask("changePassword", {
    key,
    path,
    body: { password: PASSWORDS.first, new_password: PASSWORDS.second },
  });
}

async function secondFactors(world: World): Promise<void> {
  const { ask, realm } = world;
  const { id, key } = await realm.user();
  const path = { id };
  const { secret } = await ask("beginTotp", { key, path });
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  await ask("confirmTotp", { key, path, body: { code } });
  await ask("getTotp", { key, path });
  await ask("deleteTotp", { key, path });
}

async function logins(world: World): Promise<void> {
  const { ask, realm, applicationKey, password } = world;
  const { realm_key } = realm.made.realm;
  const own = { realm_key, email: "admin@test.example", password };
  await ask("logInAdministrator", { key: applicationKey, body: own });
  const body = { realm_key, username: "dora", password };
  const { id } = await ask("createUser", {
    body: { username: "dora", password, roles: "user", scopes: "own" },
    aside: true,
  });
  const logIn = async () => (await ask("logIn", { key: applicationKey, body }))["x-api-key"];
  await logIn();
  const other = await logIn();
  // Uses are noted now and then.
  const settle = { "0.last_used_at": 1767225600000 };
  const held = await ask("listOwnLogins", { key: other, settle });
  await ask("listUserLogins", { path: { id }, settle });
  const idle = held.find((one: { current: boolean }) => !one.current);
  await ask("endOwnLogin", { key: other, path: { id: idle.id } });
  await logIn();
  await ask("endOtherLogins", { key: other });
  const last = await ask("listOwnLogins", { key: other, aside: true });
  await logIn();
  await ask("endUserLogin", { path: { id, login: last[0].id } });
  await ask("endUserLogins", { path: { id } });
  await ask("logOut", { key: await logIn() });
  await ask("listPublicKeys", { key: null });
}

async function identities(world: World): Promise<void> {
  const { ask, browse } = world;
  const made = await ask("createIdentity", {
    body: { type: "neutral", country: "HR", currency: "EUR", alias: "ana", data: { segment: "b" } },
  });
  const path = { id: made.id };
  await browse({ many: "Identities", one: "Identity", id: made.id });
  await ask("updateIdentity", { path, body: { country: "AT" } });
  await ask("deleteIdentity", { path });
  await ask("undeleteIdentity", { path });
}

async function persons(world: World): Promise<void> {
  const { ask, realm } = world;
  const person = {
    firstName: "Ana",
    lastName: "Horvat",
    city: "Zagreb",
    country: "Croatia",
    birthDate: "1990-02-28",
    tags: ["vip"],
    customAttributes: { level: "gold" },
    contactInformation: {
      phone: [{ number: "+385911234567" }],
      email: [{ address: "ana@example.com" }],
    },
  };
  const made = await ask("createPersonIdentity", { body: { country: "HR", person } });
  const path = { id: made.id };
  await ask("getPerson", { path });
  await ask("changePerson", { path, body: { city: "Split", tags: ["vip", "early"] } });
  await ask("createPersonEvent", {
    path: { ...path, event: "cardOrdered" },
    body: { data: { properties: { design: "blue" } } },
  });
  await ask("getPersonExport", { path });
  await ask("listPersons", { query: { limit: 1 } });
  await ask("unassignPerson", { path });
  await ask("assignPerson", { path: { ...path, person: `${made.person.id}` } });
  const { id } = await ask("createIdentity", { body: {}, aside: true });
  await ask("createPerson", {
    path: { id },
    body: { ...person, firstName: "Ivo", contactInformation: {} },
  });
  await ask("deletePerson", { path: { id } });
  await ask("syncPersons", { body: { country: "HR", currency: "EUR" } });
  await realm.drain();
  await ask("listPersonsSyncs");
}

async function companies(world: World): Promise<void> {
  const { ask } = world;
  const made = await ask("createCompany", {
    body: {
      name: "Example Trading GmbH",
      country: "Austria",
      industry: "Retail",
      vatNumber: "ATU12345678",
      domains: ["trading.example.com"],
    },
  });
  const path = { id: `${made.id}` };
  await ask("listCompanies", { query: { limit: 1 } });
  await ask("changeCompany", { path, body: { customerStage: "customer" } });
  const { id } = await ask("createIdentity", { body: { type: "company" }, aside: true });
  await ask("updateIdentity", { path: { id }, body: { company: made.id }, aside: true });
  await ask("getCompany", { path: { id } });
  const other = await ask("createCompany", { body: { name: "Gone GmbH" }, aside: true });
  await ask("deleteCompany", { path: { id: `${other.id}` } });
}
