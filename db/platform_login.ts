/**
 * The role as which a process serves and works on the platform's tables. The login of the address owns the schemas of
 * all realms; this one writes rows, and changes no table, no role and no realm's place.
 * @module
 */
import type { Tx } from "./database.ts";
import { resetSettings } from "./migrate.ts";
import { openLogin } from "./realm_logins.ts";

/** The installation's login as stored. */
export interface PlatformLoginRow {
  id: string;
  /** Sealed secret from which the password derives; null where none was drawn. */
  login: Uint8Array | null;
}

/** Reads the login, and keeps others from stating it until the transaction ends. */
export async function lockPlatformLogin(tx: Tx): Promise<PlatformLoginRow> {
  const [row] = await tx<PlatformLoginRow[]>`select id, login from installation for update`;
  return row;
}

/** Keeps the sealed secret of the login. */
export async function updatePlatformLogin(tx: Tx, login: Uint8Array): Promise<void> {
  await tx`update installation set login = ${login}`;
}

/** The rights, whole; they are stated anew at each start. */
const RIGHTS = `
  revoke all on tiers, realms, application_keys, drafts, usage, signing_keys, idempotency, audit, rates, leases,
    installation, installation_witnesses, realm_faults, own_addresses, realm_steps, migrations from :role;
  grant usage on schema platform to :role;
  grant select on tiers, realms, application_keys, drafts, usage, signing_keys, idempotency, audit, rates, leases,
    installation, installation_witnesses, realm_faults, own_addresses, realm_steps, migrations to :role;
  grant insert, update, delete on usage, signing_keys, idempotency, rates, leases, drafts, installation_witnesses,
    realm_faults, own_addresses, realm_steps to :role;
  grant insert on audit, application_keys to :role;
  grant update (revoked_at) on application_keys to :role;
  grant update (name, country, accounting_currency, tier, settings, realm_key, previous_realm_key, error, updated_at)
    on realms to :role;
  grant update (epoch, label, home, timeline, master, halted, updated_at) on installation to :role`;

/** Makes the role where it is missing, and states its settings, password and rights. */
export async function statePlatformRole(tx: Tx, role: string, password: string): Promise<void> {
  const [known] = await tx`select rolname from pg_roles where rolname = ${role}`;
  if (known === undefined) await tx`create role ${tx(role)} nologin`;
  else await resetSettings(tx, role);
  await openLogin(tx, role, password);
  await tx`set local search_path to platform`;
  await tx.unsafe(RIGHTS.replaceAll(":role", `"${role}"`));
}
