/** Contact data of persons when keys of the installation change. @module */
import { deepEqual, equal } from "node:assert/strict";
import { reencryptAll } from "../../domain/realms/platform_key_rotation.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { createApp } from "../../routes/http/app.ts";
import { rotateMasterKey } from "../../workers/installation/master_key_rotation.ts";
import { openPeople } from "../../workers/gateways/people/people.ts";
import { realmDatabase } from "../support/database.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";

const NEW_KEY = "the-next-key-of-the-platform";
const EMAIL = "ada@rotated.example";
const PHONE = "+385917770001";

Deno.test("contact data are read and searched for before, while and after the platform key is changed, under any master key", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const contactInformation = { phone: [{ number: PHONE }], email: [{ address: EMAIL }] };
  const person = { firstName: "Ada", contactInformation };
  const made = await realm.admin.send("POST", "/v1/identities/person", { person });
  equal(made.status, 201, made.text);
  const processWith = (key: string, previous: string | null) => {
    const { services } = realm;
    // Contact data hang on the platform key alone: what serves requests has no master key to read them with.
    const config = { ...services.config, previousPlatformKey: previous, masterKey: null };
    const secrets = openSecrets(key, previous);
    const people = openPeople(config, secrets, services.platform);
    const app = createApp({ ...services, config, secrets, people }, key);
    return async (method: string, path: string, body?: unknown) => {
      const headers = { "x-api-key": realm.admin.key, "content-type": "application/json" };
      const text = body === undefined ? undefined : JSON.stringify(body);
      const request = new Request(`http://purser.test${path}`, { method, headers, body: text });
      const answer = await app(request, "127.0.0.1");
      return { status: answer.status, body: await answer.json() };
    };
  };
  type Ask = ReturnType<typeof processWith>;
  const assertFound = async (ask: Ask, when: string) => {
    for (const filter of [`email=${EMAIL}`, `phone=${encodeURIComponent(PHONE)}`]) {
      const found = await ask("GET", `/v1/identities/persons?${filter}`);
      deepEqual(
        found.body.map((one: typeof person & { id: string }) => [
          one.id,
          one.contactInformation.email[0].address,
        ]),
        [[made.body.person.id, EMAIL]],
        `${when}: ${filter}`,
      );
    }
    const twice = await ask("POST", "/v1/identities/person", { person });
    equal(twice.body.code, "person.taken", `${when}: a second owner is told`);
  };
  await assertFound(processWith(PLATFORM_KEY, null), "before");
  await assertFound(processWith(NEW_KEY, PLATFORM_KEY), "with both");
  const { config } = realm.services;
  await rotateMasterKey({
    ...{ database: realm.database, log: () => {} },
    ...{ from: config.masterKey!, to: btoa("fedcba9876543210fedcba9876543210") },
  });
  await assertFound(processWith(PLATFORM_KEY, null), "after the master key was changed");
  await reencryptAll(realm.database, openSecrets(NEW_KEY, PLATFORM_KEY));
  await assertFound(processWith(NEW_KEY, PLATFORM_KEY), "after, with both");
  await assertFound(processWith(NEW_KEY, null), "after");
});
