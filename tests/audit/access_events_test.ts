import { deepEqual, equal, ok } from "node:assert/strict";
import { totpCode } from "../../domain/security/totp.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { PASSWORD, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { tampering } from "../support/tamper.ts";
import { selectMismatches } from "../../db/audit/ledger_check.ts";

interface Link {
  kind?: string;
  subject?: string;
  facts?: Record<string, unknown> | null;
}

/** Events of the chain about one subject, oldest first. */
async function eventsOf(realm: TestRealm, kind: string, subject: string): Promise<Link[]> {
  await extendHashChain(realm.pool, Date.now);
  const { body } = await realm.admin.send("GET", "/v1/transactions/chain");
  return body.filter((link: Link) => link.kind === kind && link.subject === subject);
}

Deno.test("keys of machines, second factors and passwords are events of the chain, and no secret is", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  const made = await user.send("POST", "/v1/keys", { name: "m", addresses: ["192.0.2.0/24"] });
  await realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": made.body.key });
  await user.send("DELETE", `/v1/keys/${made.body.id}`);
  const keys = await eventsOf(realm, "api_keys", made.body.id);
  deepEqual(
    keys.map(({ facts }) => [facts!.addresses, facts!.owner, "deleted_at" in facts!]),
    [[["192.0.2.0/24"], user.id, false], [["192.0.2.0/24"], user.id, true]],
    "made and ended; a use is no event",
  );
  const path = `/v1/users/${user.id}/totp`;
  const { secret } = (await user.send("POST", path)).body;
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  const confirmed = await user.send("POST", `${path}/confirm`, { code });
  equal(confirmed.status, 200);
  equal((await user.send("DELETE", path)).status, 200);
  const factors = await eventsOf(realm, "second_factors", user.id);
  deepEqual(
    factors.map(({ facts }) => facts === null ? null : "confirmed_at" in facts!),
    [false, true, null],
    "begun, confirmed, ended",
  );
  const before = await eventsOf(realm, "users", user.id);
  const next = { password: PASSWORD, new_password: "another horse battery" };
  equal((await user.send("POST", `/v1/users/${user.id}/password`, next)).status, 200);
  const after = await eventsOf(realm, "users", user.id);
  equal(after.length, before.length + 2, "the password, and the end of all keys");
  const digests = [before, after].map((events) => events.at(-1)!.facts!.verifier as string);
  ok(digests[0] !== digests[1] && digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)));
  const [{ verifier, digest }] = await rowsOf<{ verifier: string; digest: string }>(
    realm,
    "select u.verifier, encode(k.digest, 'hex') as digest from users u, api_keys k where u.id = $1",
    [user.id],
  );
  const { text } = await realm.admin.send("GET", "/v1/transactions/chain");
  const words = [verifier.split("$").at(-1)!, digest, secret, made.body.key];
  for (const word of [...words, ...confirmed.body.recovery_codes]) {
    equal(text.includes(word), false);
  }
});

Deno.test("every change by hand of a key, a second factor or a verifier is found", async () => {
  await using realm = await testRealm();
  const { id } = (await realm.admin.send("POST", "/v1/keys", { name: "m", scopes: "own" })).body;
  const path = `/v1/users/${realm.admin.id}/totp`;
  const { secret } = (await realm.admin.send("POST", path)).body;
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  equal((await realm.admin.send("POST", `${path}/confirm`, { code })).status, 200);
  const found = (statement: string) =>
    tampering(realm, [statement], (tx) => selectMismatches(tx, "event.facts", 10));
  deepEqual(await found("select 1"), []);
  for (
    const [statement, subject] of [
      [`update api_keys set scopes = array['realm', 'own']`, `api_keys ${id}`],
      [`update api_keys set digest = sha256('mine')`, `api_keys ${id}`],
      [`update api_keys set deleted_at = null, addresses = '{}', owner = owner, expires_at = now()`],
      [`delete from api_keys`, `api_keys ${id}`],
      [`update second_factors set secret = 'mine'::bytea`, `second_factors ${realm.admin.id}`],
      [`update second_factors set recovery = array[sha256('mine')]`],
      [`delete from second_factors`, `second_factors ${realm.admin.id}`],
      [`update users set verifier = verifier || 'x'`, `users ${realm.admin.id}`],
    ]
  ) {
    const mismatches = await found(statement);
    equal(mismatches.length, 1, statement);
    if (subject !== undefined) equal(mismatches[0].subject, subject);
  }
});
