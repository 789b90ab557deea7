/** Statements on which network the nodes of a chain are of, where several would do; in the platform's schema. @module */
import type { Db } from "../database.ts";

/** A chain on one of its networks. */
export interface NetworkKey {
  readonly chain: string;
  readonly network: string;
}

/** What was decided. */
export interface NetworkIdentity extends NetworkKey {
  /** The chain id on EVM chains, elsewhere the first block. */
  readonly identity: string;
  /** Milliseconds. */
  readonly decided_at: number;
}

/** Reads what was decided of one network; null: nothing. */
export async function selectIdentity(
  db: Db,
  { chain, network }: NetworkKey,
): Promise<string | null> {
  const [row] = await db<{ identity: string }[]>`
    select identity from network_identities where chain = ${chain} and network = ${network}`;
  return row?.identity ?? null;
}

/** Keeps what was decided, unless something is kept. */
export async function insertIdentity(
  db: Db,
  { chain, network }: NetworkKey,
  identity: string,
): Promise<void> {
  await db`
    insert into network_identities (chain, network, identity)
    values (${chain}, ${network}, ${identity}) on conflict (chain, network) do nothing`;
}

/** Lists what was decided. */
export async function selectIdentities(db: Db): Promise<NetworkIdentity[]> {
  return await db<NetworkIdentity[]>`
    select chain, network, identity, decided_at from network_identities order by chain, network`;
}

/** Forgets what was decided of one network. Gives what it was; null: nothing. */
export async function deleteIdentity(
  db: Db,
  { chain, network }: NetworkKey,
): Promise<string | null> {
  const [row] = await db<{ identity: string }[]>`
    delete from network_identities where chain = ${chain} and network = ${network}
    returning identity`;
  return row?.identity ?? null;
}
