/** Opens the customer-data platform that the configuration names. @module */
import type { Config } from "../../../config.ts";
import type { Pool } from "../../../db/database.ts";
import { selectOldestRealm } from "../../../db/realms/realms.ts";
import { reading } from "../../../db/transaction.ts";
import { openLocalProvider } from "../../../domain/people/local_provider.ts";
import type { People } from "../../../domain/people/people.ts";
import type { Secrets } from "../../../domain/security/serving_secrets.ts";
import { openInfobipPeople } from "./infobip.ts";

/** Opens the customer-data platform. An account at a provider belongs to one realm. */
export function openPeople(
  { people }: Pick<Config, "people">,
  secrets: Secrets,
  platform: Pool,
): People {
  if (people.provider === "off") return { of: () => Promise.resolve(null) };
  if (people.provider === "local" || people.account === null) {
    const local = openLocalProvider(secrets);
    return { of: () => Promise.resolve(local) };
  }
  const remote = openInfobipPeople(people.account);
  let served = people.realm;
  return {
    async of(realm) {
      served ??= await reading(platform, selectOldestRealm);
      return served === realm ? remote : null;
    },
  };
}
