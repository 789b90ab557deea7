/**
 * Roles of a process for the platform's tables and for reads of all realms. The login of the address
 * owns the schemas of all realms. Of these two roles, one writes rows of the platform's tables, and
 * changes no table, no role and no realm's location; the other reads all realms, and may only take on
 * the role of a realm's worker.
 * @module
 */
import { codeOf } from "./errors.ts";
import { type Db, type Tx, workerRole } from "./database.ts";
import { openLogin, resetSettings } from "./realm_logins.ts";

/** The installation's login as stored. */
export interface PlatformLoginRow {
  id: string;
  /** Encrypted secret from which the password derives; null where none was drawn. */
  login: Uint8Array | null;
}

/** Reads and locks the login. */
export async function lockPlatformLogin(tx: Tx): Promise<PlatformLoginRow> {
  const [row] = await tx<PlatformLoginRow[]>`select id, login from installation for update`;
  return row;
}

/** Stores the encrypted secret of the login. */
export async function updatePlatformLogin(tx: Tx, login: Uint8Array): Promise<void> {
  await tx`update installation set login = ${login}`;
}

/** All rights of the role; each start states them again. */
const RIGHTS = `
  revoke all on tiers, realms, application_keys, realm_provisioning, usage, signing_keys, idempotency, audit, rates, leases,
    installation, installation_witnesses, realm_faults, own_addresses, network_identities, realm_steps, realm_measurements,
    whatsapp_interactions, realm_moves, migrations from :role;
  grant usage on schema platform to :role;
  grant select on tiers, realms, application_keys, realm_provisioning, usage, signing_keys, idempotency, audit, rates, leases,
    installation, installation_witnesses, realm_faults, own_addresses, network_identities, realm_steps, realm_measurements,
    whatsapp_interactions, realm_moves, migrations to :role;
  grant insert, update, delete on usage, signing_keys, idempotency, rates, leases, realm_provisioning, installation_witnesses,
    realm_faults, own_addresses, realm_steps, realm_measurements, whatsapp_interactions to :role;
  grant insert on audit, application_keys, network_identities to :role;
  grant update (revoked_at) on application_keys to :role;
  grant update (name, country, accounting_currency, tier, settings, realm_key, previous_realm_key, login_epoch, error,
    updated_at) on realms to :role;
  grant update (epoch, label, home, timeline, master, halted, updated_at) on installation to :role`;

/** Creates the role where it is missing, and states its settings, password and rights. */
export async function statePlatformRole(tx: Tx, role: string, password: string): Promise<void> {
  const [known] = await tx`select rolname from pg_roles where rolname = ${role}`;
  if (known === undefined) await tx`create role ${tx(role)} nologin`;
  else await resetSettings(tx, role);
  await openLogin(tx, role, password);
  await tx`set local search_path to platform`;
  await tx.unsafe(RIGHTS.replaceAll(":role", `"${role}"`));
}

/**
 * Realms of one transaction: for each grant the server reads all roles of the owner, so thousands
 * would take too long.
 */
const PAGE = 100;
/** The server's code for a statement that a login has no right to. */
const DENIED = "42501";

/** Name of the role of the shared pool, which reads all realms of an installation. */
export function watchRole(installation: string): string {
  return `watch_${installation.replaceAll("-", "")}`;
}

/** Creates the role that reads all realms where it is missing, and states its login. */
export async function stateWatchRole(tx: Tx, role: string, password: string): Promise<void> {
  const [known] = await tx`select rolname from pg_roles where rolname = ${role}`;
  if (known === undefined) {
    await tx`create role ${tx(role)} nologin noinherit`;
    // A transaction that creates a realm meanwhile did not see the role: the written row makes it start again.
    await tx`update installation set updated_at = now()`;
  } else await resetSettings(tx, role);
  await openLogin(tx, role, password);
}

/** Lets the role read some more realms, after one of them; gives the last, or null at the end. */
export async function admitToRealms(
  tx: Tx,
  role: string,
  after: string | null,
  limit = PAGE,
): Promise<string | null> {
  const page = await selectUnwatched(tx, role, { after, limit });
  for (const { worker } of page) await admit(tx, worker, role);
  return page.length < limit ? null : page[page.length - 1].id;
}

/**
 * Grants a role to another; where the server refuses that, only reads of that realm fail, with an
 * error.
 */
async function admit(tx: Tx, worker: string, role: string): Promise<void> {
  await tx.savepoint((sp) => sp`grant ${sp(worker)} to ${sp(role)}`).catch((error) => {
    if (codeOf(error) !== DENIED) throw error;
  });
}

/** Reads the workers' roles of realms in this database that a role may not take on, after one of them. */
async function selectUnwatched(
  tx: Tx,
  role: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<{ id: string; worker: string }[]> {
  return await tx`
    select r.id, p.rolname as worker from platform.realms r
    join pg_roles p on p.rolname = r.role_name || '_worker'
    where r.database_url_encrypted is null and not exists (select from pg_auth_members m
        where m.roleid = p.oid and m.member = (select oid from pg_roles where rolname = ${role}))
      and ${after === null ? tx`true` : tx`r.id > ${after}`}
    order by r.id limit ${limit}`;
}

/** Lets the role that reads all realms, if there is one, read a realm that is being created or repaired. */
export async function admitWatch(tx: Tx, realmRole: string): Promise<void> {
  // Kept from changing until the end, and looked up after that: the role may be made in the meantime.
  const [{ id }] = await tx<{ id: string }[]>`select id from platform.installation for key share`;
  const role = watchRole(id);
  const [{ there }] = await tx<{ there: boolean }[]>`
    select to_regrole(${role}) is not null as there`;
  if (there) await tx`grant ${tx(workerRole(realmRole))} to ${tx(role)}`;
}

/** Tells whether the login of a connection can make roles. */
export async function makesRoles(db: Db): Promise<boolean> {
  const [row] = await db<{ can: boolean }[]>`
    select rolsuper or rolcreaterole as can from pg_roles where rolname = session_user`;
  return row.can;
}
