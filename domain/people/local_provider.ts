/** The platform of the realms' own tables. @module */
import type { Secrets } from "../security/serving_secrets.ts";
import { openLocalCompanies } from "./local_companies.ts";
import { openLocalPersons } from "./local_persons.ts";
import type { PeopleProvider } from "./provider.ts";

/** Opens the platform of the realms' own tables. */
export function openLocalProvider(secrets: Secrets): PeopleProvider {
  return {
    ...{ name: "local", remote: false },
    persons: openLocalPersons(secrets),
    companies: openLocalCompanies(),
  };
}
