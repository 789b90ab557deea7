/** Opens the customer-data platform that the configuration names. @module */
import type { Config } from "../../../config.ts";
import { openLocalProvider } from "../../../domain/people/local_provider.ts";
import type { People } from "../../../domain/people/people.ts";
import type { Secrets } from "../../../domain/security/serving_secrets.ts";

/** Opens the customer-data platform. */
export function openPeople(config: Pick<Config, "cdpProvider">, secrets: Secrets): People {
  if (config.cdpProvider === "off") return { of: () => Promise.resolve(null) };
  const local = openLocalProvider(secrets);
  return { of: () => Promise.resolve(local) };
}
