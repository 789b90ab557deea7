/** Statements on the directory of the addresses of all realms, by keyed digests; in the platform's schema. @module */
import type { Db, Tx } from "../database.ts";

/** Reads the key of the digests of addresses; it never changes. */
export async function selectAddressKey(db: Db): Promise<string> {
  const [row] = await db<{ address_key: string }[]>`select address_key from installation`;
  return row.address_key;
}

/** Adds digests of addresses of a realm; existing ones stay as they are. */
export async function insertDigests(
  tx: Tx,
  realm: string,
  digests: readonly string[],
): Promise<void> {
  await tx`
    insert into own_addresses (digest, realm)
    select decode(d, 'hex'), ${realm} from jsonb_array_elements_text(${tx.json([...digests])}) d
    on conflict (digest) do nothing`;
}

/** Tells which of some digests are of addresses of other realms than one. */
export async function selectForeign(
  db: Db,
  realm: string,
  digests: readonly string[],
): Promise<string[]> {
  const rows = await db<{ digest: string }[]>`
    select d as digest from jsonb_array_elements_text(${JSON.stringify(digests)}::text::jsonb) d,
      lateral (select realm from own_addresses where digest = decode(d, 'hex') offset 0) o
    where o.realm <> ${realm}`;
  return rows.map(({ digest }) => digest);
}
