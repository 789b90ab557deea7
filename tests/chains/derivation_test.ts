import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { parseAddress } from "../../domain/chains/addresses.ts";
import { CHAINS } from "../../domain/assets.ts";
import {
  accountPath,
  addressOfKey,
  deriveAddress,
  deriveAddresses,
  hdVersion,
} from "../../domain/chains/derivation.ts";

// The account m/84'/0'/0' of BIP-84's test vector, with xpub version bytes instead of zpub.
const XPUB =
  "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V";
const TPUB =
  "tpubDC8msFGeGuwnKG9Upg7DM2b4DaRqg3CUZa5g8v2SRQ6K4NSkxUgd7HsL2XVWbVm39yBA4LAxysQAm397zwQSQoQgewGiYZqrA9DsP4zbQ1M";

Deno.test("deriveAddress() gives the addresses of BIP-84's vector", async () => {
  equal(
    await deriveAddress("BITCOIN", "main", XPUB, 0),
    "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
  );
  equal(
    await deriveAddress("BITCOIN", "main", XPUB, 1),
    "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
  );
});

Deno.test("deriveAddress() gives every chain addresses that parseAddress() takes unchanged", async () => {
  for (const { id, family } of CHAINS.filter((chain) => chain.family !== "solana")) {
    const networks = family === "bitcoin"
      ? ["main", "testnet", "regtest"] as const
      : ["main", "testnet"] as const;
    for (const network of networks) {
      const address = await deriveAddress(id, network, network === "main" ? XPUB : TPUB, 7);
      equal(
        JSON.stringify(await parseAddress(id, network, address)),
        JSON.stringify({ ok: true, address }),
      );
    }
  }
});

Deno.test("deriveAddress() refuses other networks' xpubs, other depths and bad indexes", async () => {
  await rejects(deriveAddress("BITCOIN", "testnet", XPUB, 0));
  await rejects(deriveAddress("ETHEREUM", "main", XPUB, -1), RangeError);
  await rejects(deriveAddress("ETHEREUM", "main", XPUB, 2 ** 31), RangeError);
  await rejects(deriveAddress("ETHEREUM", "main", XPUB, 0.5), RangeError);
  await rejects(deriveAddress("SOLANA", "main", XPUB, 0), TypeError);
  const root =
    "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8";
  await rejects(deriveAddress("ETHEREUM", "main", root, 0), TypeError);
});

Deno.test("deriveAddresses() derives many at once as the library for BIP-32 does one by one", async () => {
  const { BIP32Factory } = await import("bip32");
  const ecc = await import("@bitcoinerlab/secp256k1");
  const branch = BIP32Factory(ecc).fromBase58(XPUB, hdVersion("main")).derive(0);
  for (const chain of ["BITCOIN", "BITCOIN_CASH", "DOGECOIN", "ETHEREUM", "TRON"] as const) {
    for (const from of [0, 199, 2 ** 31 - 12]) {
      const expected = await Promise.all(
        Array.from({ length: 12 }, (_, i) => branch.derive(from + i).publicKey)
          .map((key) => addressOfKey(chain, "main", key)),
      );
      deepEqual(await deriveAddresses(chain, "main", XPUB, { from, count: 12 }), expected);
    }
  }
});

Deno.test("accountPath() follows BIP-44 and BIP-84, with coin type 1 on test networks", () => {
  equal(accountPath("BITCOIN", "main", 7), "m/84'/0'/7'");
  equal(accountPath("CELO", "main", 0), "m/44'/60'/0'");
  equal(accountPath("TRON", "testnet", 1), "m/44'/1'/1'");
  ok(accountPath("LITECOIN", "regtest", 2).startsWith("m/84'/1'"));
});
