/**
 * Which networks the nodes of an installation's chains are of, where several would do: decided once and kept in the
 * platform's database, so that no node decides it anew when a process starts.
 * @module
 */
import { insertIdentity, selectIdentity } from "../../db/chains/network_identities.ts";
import type { Pool } from "../../db/database.ts";
import { reading, writing } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { KeptIdentity } from "../chains/identity.ts";

/** Gives where it is kept which network a chain's nodes are of. */
export function keptIdentities(platform: Pool): (place: ChainNetwork) => KeptIdentity {
  return (place) => ({
    read: () => reading(platform, (db) => selectIdentity(db, place)),
    keep: async (id) => {
      await writing(platform, (tx) => insertIdentity(tx, place, id));
      return await reading(platform, (db) => selectIdentity(db, place)) ?? id;
    },
  });
}
