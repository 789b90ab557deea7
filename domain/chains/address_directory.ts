/**
 * Directory of the addresses of all realms of the installation: keyed digests in the platform's
 * schema, which no realm's role can read. With it no realm links an address of another, no realm
 * learns the owner of an address, and each statement concerns one realm.
 * @module
 */
import { createHmac } from "node:crypto";
import {
  insertDigests,
  selectAddressKey,
  selectForeign,
} from "../../db/chains/address_directory.ts";
import type { Db, Pool, Tx } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { NETWORKS, parseAddress } from "./addresses.ts";
import { CHAINS } from "../assets.ts";

/** Adds addresses of a realm to the directory. */
export async function enterAddresses(
  tx: Tx,
  realm: string,
  addresses: readonly string[],
): Promise<void> {
  const key = await selectAddressKey(tx);
  await insertDigests(tx, realm, addresses.map((address) => digestOf(key, address)));
}

/** Tells which of some addresses belong to other realms. */
export async function foreignAddresses(
  db: Db,
  realm: string,
  addresses: readonly string[],
): Promise<string[]> {
  if (addresses.length === 0) return [];
  const key = await selectAddressKey(db);
  const digests = new Map(addresses.map((address) => [digestOf(key, address), address]));
  const found = await selectForeign(db, realm, [...digests.keys()]);
  return found.map((digest) => digests.get(digest)!);
}

/** Tells which spellings of an address belong to other realms on some chain. */
export async function foreignForms(
  platform: Pool,
  realm: string,
  written: string,
): Promise<string[]> {
  const forms = new Set<string>();
  for (const { id } of CHAINS) {
    for (const network of NETWORKS) {
      const parsed = await parseAddress(id, network, written);
      if (parsed.ok) forms.add(parsed.address);
    }
  }
  return await reading(platform, (db) => foreignAddresses(db, realm, [...forms]));
}

function digestOf(key: string, address: string): string {
  return createHmac("sha256", key).update(address).digest("hex");
}
