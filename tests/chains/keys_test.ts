import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { base58 } from "@scure/base";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import {
  accountXpub,
  addressKey,
  seedOf,
  slip10,
  solanaAddresses,
  wipe,
} from "../../workers/chains/keys.ts";

const PHRASE = "abandon ".repeat(11) + "about";

Deno.test("seedOf() gives the seeds of BIP-39's vectors", async () => {
  equal(
    hex(await seedOf(PHRASE, "TREZOR")),
    "c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04",
  );
  equal(
    hex(await seedOf(PHRASE)),
    "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4",
  );
});

Deno.test("seedOf() refuses a wrong checksum and does not repeat the words", async () => {
  const wrong = "abandon ".repeat(12).trim();
  await rejects(seedOf(wrong), (error: Error) => {
    ok(error instanceof TypeError);
    ok(!error.message.includes("abandon"));
    return true;
  });
});

Deno.test("addressKey() gives the known addresses of the best-known phrase", async () => {
  const seed = await seedOf(PHRASE);
  const expected = [
    ["BITCOIN", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"],
    ["LITECOIN", "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh"],
    ["BITCOIN_CASH", "bitcoincash:qqyx49mu0kkn9ftfj6hje6g2wfer34yfnq5tahq3q6"],
    ["DOGECOIN", "DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC"],
    ["ETHEREUM", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
    ["POLYGON", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
    ["TRON", "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"],
  ] as const;
  for (const [chain, address] of expected) {
    equal((await addressKey(seed, chain, "main", 0, 0)).address, address);
  }
});

Deno.test("accountXpub() is the account key of BIP-84's vector, with xpub version bytes", async () => {
  const zpub =
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
  const xpub = await accountXpub(await seedOf(PHRASE), "BITCOIN", "main", 0) ?? "";
  ok(xpub.startsWith("xpub"));
  const body = (text: string) => base58.decode(text).slice(4, -4);
  deepEqual(body(xpub), body(zpub));
});

Deno.test("accountXpub() and addressKey() agree on every index of an account", async () => {
  const seed = await seedOf(PHRASE);
  for (const chain of ["BITCOIN", "ETHEREUM", "TRON"] as const) {
    const xpub = await accountXpub(seed, chain, "testnet", 3);
    for (const index of [0, 1, 99]) {
      const { address } = await addressKey(seed, chain, "testnet", 3, index);
      equal(address, await deriveAddress(chain, "testnet", xpub!, index));
    }
  }
});

Deno.test("slip10() gives the keys of SLIP-10's first ed25519 vector", async () => {
  const seed = bytes("000102030405060708090a0b0c0d0e0f");
  equal(
    hex(await slip10(seed, "m/0'")),
    "68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3",
  );
  equal(
    hex(await slip10(seed, "m/0'/1'/2'/2'/1000000000'")),
    "8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793",
  );
  await rejects(slip10(seed, "m/0"), RangeError);
});

Deno.test("Solana has no xpub, and its addresses come from hardened steps", async () => {
  const seed = await seedOf(PHRASE);
  equal(await accountXpub(seed, "SOLANA", "main", 0), null);
  const first = await addressKey(seed, "SOLANA", "main", 0, 0);
  equal(first.address, "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk");
  notEqual(first.address, (await addressKey(seed, "SOLANA", "main", 0, 1)).address);
});

Deno.test("addresses of Solana that are derived ahead are those of their keys", async () => {
  const seed = await seedOf(PHRASE);
  const of = { network: "testnet", account: 3, from: 5, count: 3 } as const;
  const singly = [5, 6, 7].map(async (at) =>
    (await addressKey(seed, "SOLANA", "testnet", 3, at)).address
  );
  deepEqual(await solanaAddresses(seed, of), await Promise.all(singly));
});

Deno.test("wipe() leaves zeros", async () => {
  const seed = await seedOf(PHRASE);
  wipe(seed);
  deepEqual(seed, new Uint8Array(64));
});

function hex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}
