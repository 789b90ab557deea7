/** The arguments of `realm create`. @module */
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { parseStoredJson } from "../domain/json.ts";

const REALM_FLAGS = {
  name: { type: "string" },
  country: { type: "string" },
  currency: { type: "string" },
  zone: { type: "string" },
  tier: { type: "string" },
  email: { type: "string" },
  username: { type: "string" },
  password: { type: "string" },
  "database-url": { type: "string" },
} as const;
const REALM_USAGE = "usage: realm create --name … --email … --password …" +
  " [--country US] [--currency USD] [--zone US] [--tier unlimited] [--username …]" +
  ' [--database-url postgres://…], or realm create \'{"name": "…", "admin": {…}}\'';

/** Reads what `realm create` asks for, given as JSON or as flags: the body of POST /v1/realms. */
export function realmAsked([verb, ...given]: readonly string[]): unknown {
  if (verb !== "create" || given.length === 0) throw new ConfigError([REALM_USAGE]);
  return given[0].startsWith("{") ? parseStoredJson(given.join(" ")) : realmOf(given);
}

/** Reads the flags of `realm create` as the body of POST /v1/realms. */
function realmOf(args: readonly string[]): unknown {
  try {
    const { values } = parseArgs({ args: [...args], options: REALM_FLAGS });
    const { name, country, zone, tier, email, username, password } = values;
    const given = {
      name,
      country,
      accounting_currency: values.currency,
      zone,
      tier,
      database_url: values["database-url"],
      admin: { email, username, password },
    };
    return JSON.parse(JSON.stringify(given)); // without what was not given
  } catch (error) {
    throw new ConfigError([error instanceof Error ? error.message : String(error), REALM_USAGE]);
  }
}
