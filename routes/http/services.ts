/** The services that routes use. @module */
import type { Config } from "../../config.ts";
import type { Pool } from "../../domain/command.ts";
import type { ProvisioningOptions } from "../../domain/realms/provisioning.ts";
import type { SigningKeys } from "../../domain/security/signing_keys.ts";
import type { People } from "../../domain/people/people.ts";
import type { RealmContexts } from "../../domain/realms/context.ts";
import type { Replica } from "../../domain/realms/replica_reads.ts";
import type { Migrations } from "../../domain/realms/realms.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Log } from "../../log.ts";
import type { Ending } from "./shutdown.ts";
import type { Limits } from "./rate_limits.ts";

/** The parts that routes work with. */
export interface Services {
  config: Config;
  log: Log;
  /** Lines of the log that could not be written, since the process began. */
  lostLines(): number;
  /** The pool of the platform's own schema. */
  platform: Pool;
  /** The replica of the platform's server; null where there is none. */
  replica: Replica | null;
  migrations: Migrations;
  /** The dependencies of creating a realm. */
  provisioning: ProvisioningOptions;
  realms: RealmContexts;
  signingKeys: SigningKeys;
  secrets: Secrets;
  people: People;
  limits: Limits;
  /** Connections in use by realms and posting queues now. */
  connections(): number;
  ending: Ending;
  /** Tells the workers of this process that a realm has a due job. */
  wake(realm: string): void;
  now(): number;
}
