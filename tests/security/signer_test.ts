import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { decryptSecret, encryptSecret, readMasterKey } from "../../domain/security/envelope.ts";
import type { KeyPath } from "../../workers/keys/signer.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { rotateRealm } from "../../workers/installation/master_key_rotation.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("keys of one seed");

const OLD = btoa("0123456789abcdef0123456789abcdef");
const NEW = btoa("fedcba9876543210fedcba9876543210");
const PATH = { chain: "ETHEREUM", network: "testnet", number: 0 } as const;

Deno.test("a secret opens under its key, for its realm, kind and id, and not when altered", async () => {
  const master = await readMasterKey(OLD);
  const name = { realm: "r", kind: "seed", id: newId(Date.now()) };
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const stored = await encryptSecret(master, name, secret);
  deepEqual(await decryptSecret(master, name, stored), secret);
  for (const other of [{ realm: "s" }, { kind: "key" }, { id: newId(Date.now()) }]) {
    await rejects(decryptSecret(master, { ...name, ...other }, stored), TypeError);
  }
  const altered = {
    ...stored,
    ciphertext: stored.ciphertext.map((byte, at) => at === 20 ? byte ^ 1 : byte),
  };
  await rejects(decryptSecret(master, name, altered), TypeError);
  await rejects(decryptSecret(await readMasterKey(NEW), name, stored), /another master key/);
  await rejects(readMasterKey("short"), TypeError);
});

test("a realm has one seed, whichever process makes it first, and it is stored encrypted alone", async (realm) => {
  const store = { realm: realm.id, pool: realm.pool };
  const signers = [1, 2, 3].map(() => openSigner(OLD, Date.now));
  const xpubs = await Promise.all(signers.map((signer) => signer.xpub(store, PATH)));
  match(xpubs[0]!, /^tpub/);
  deepEqual(new Set(xpubs).size, 1);
  const other = await signers[0].xpub(store, { ...PATH, number: 1 });
  notEqual(other, xpubs[0]);
  const rows = await rowsOf<{ kind: string; size: number }>(
    realm,
    "select kind, octet_length(ciphertext) as size from secrets",
  );
  deepEqual(rows, [{ kind: "seed", size: 32 + 12 + 16 }]);
});

test("keys are lent for one call, wiped after it, and only for their own addresses", async (realm) => {
  const store = { realm: realm.id, pool: realm.pool };
  const signer = openSigner(OLD, Date.now);
  const wrong: KeyPath = {
    ...PATH,
    index: 0,
    address: "0x00000000000000000000000000000000DeaDBeef",
  };
  await rejects(signer.withKeys(store, [wrong], () => Promise.resolve()), (error: Error) => {
    match(error.message, /no key of 0x0+DeaDBeef/);
    return true;
  });
  const { deriveAddress } = await import("../../domain/chains/derivation.ts");
  const xpub = (await signer.xpub(store, PATH))!;
  const address = await deriveAddress("ETHEREUM", "testnet", xpub, 3);
  let lent: Uint8Array = new Uint8Array();
  await signer.withKeys(store, [{ ...PATH, index: 3, address }], (keys) => {
    lent = keys.get(address)!;
    equal(lent.some((byte) => byte !== 0), true);
    return Promise.resolve();
  });
  deepEqual(lent, new Uint8Array(32));
});

Deno.test("rotating the master key keeps every key, and may be done twice", async () => {
  await using realm = await testRealm();
  const store = { realm: realm.id, pool: realm.pool };
  const before = await openSigner(OLD, Date.now).xpub(store, PATH);
  const keys = { from: await readMasterKey(OLD), to: await readMasterKey(NEW) };
  const owner = realm.database.owner(locationOf(realm.made.realm));
  equal(await rotateRealm(owner, realm.id, keys), 1);
  equal(await rotateRealm(owner, realm.id, keys), 0);
  await owner.sql.end();
  await rejects(openSigner(OLD, Date.now).xpub(store, PATH), /another master key/);
  equal(await openSigner(NEW, Date.now).xpub(store, PATH), before);
});
