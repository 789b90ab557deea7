/**
 * One realm's database is broken in each way that happens: that realm answers 503, the process lives
 * and all other realms go on, in two processes on one server.
 *
 * @module
 */
import { ok } from "node:assert/strict";
import postgres from "postgres";
import { startEmbedded } from "../../../db/embedded/embedded.ts";
import { until } from "../../support/eventually.ts";
import { type CrashRealm, makeRealm, type Service, startService } from "./service.ts";

interface Answer {
  status: number;
  code: string | null;
}

/** A fault in one realm and its remedy: statements of the superuser. */
interface Outage {
  name: string;
  /** The realm lives in a database of its own, reached as a role of the tenant's. */
  apart: boolean;
  /** `at` is the name of the realm's schema and role; of its database and login where it is apart. */
  breakIt: (at: string) => string;
  mendIt: (at: string) => string;
}

const TENANT_PASSWORD = "password-of-the-tenant";
const OUTAGES: readonly Outage[] = [
  {
    name: "its role is missing",
    apart: false,
    breakIt: (at) => `alter role "${at}" rename to "${at}_gone"`,
    mendIt: (at) => `alter role "${at}_gone" rename to "${at}"`,
  },
  {
    name: "its schema is gone",
    apart: false,
    breakIt: (at) => `alter schema "${at}" rename to "${at}_gone"`,
    mendIt: (at) => `alter schema "${at}_gone" rename to "${at}"`,
  },
  {
    name: "its role may no longer read",
    apart: false,
    breakIt: (at) => `revoke usage on schema "${at}" from "${at}"`,
    mendIt: (at) => `grant usage on schema "${at}" to "${at}"`,
  },
  {
    name: "its statements run into their time limit",
    apart: false,
    breakIt: (at) =>
      `create function "${at}".cancel() returns int language plpgsql as
         $$ begin raise exception 'canceled' using errcode = '57014'; end $$;
       alter table "${at}".accounts rename to accounts_there;
       create view "${at}".accounts as select a.* from "${at}".accounts_there a, "${at}".cancel();
       grant all on "${at}".accounts to "${at}"`,
    mendIt: (at) =>
      `drop view "${at}".accounts; alter table "${at}".accounts_there rename to accounts`,
  },
  {
    name: "the password of its role was changed",
    apart: false,
    breakIt: (at) =>
      `create table kept as select rolpassword from pg_authid where rolname = '${at}';
       alter role "${at}" password 'another'`,
    mendIt: (at) =>
      `do $$ begin
         execute format('alter role %I password %L', '${at}', (select rolpassword from kept));
       end $$;
       drop table kept`,
  },
  {
    name: "its database has no connection left",
    apart: true,
    breakIt: (at) => `alter database "${at}" connection limit 0`,
    mendIt: (at) => `alter database "${at}" connection limit -1`,
  },
  {
    name: "its database is gone",
    apart: true,
    breakIt: (at) => `alter database "${at}" rename to "${at}_gone"`,
    mendIt: (at) => `alter database "${at}_gone" rename to "${at}"`,
  },
];
const REALMS = 5;
/** PostgreSQL's object_in_use. */
const IN_USE = "55006";
/** Statements, waits for a connection and lost answers end before that. */
const ANSWER_MS = 180_000;
/**
 * Ends the connections of a realm, or all where none is named: what they have open would hide a part of the outage.
 * Those of other realms are left: to make them anew is most of the work of this test.
 */
const disconnect = (at: string | null) =>
  `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'purser%' and pid <> pg_backend_pid()` +
  (at === null ? "" : ` and (usename like '${at}%' or datname = '${at}')`);

Deno.test("a realm whose database is broken answers 503; two processes live, and all other realms go on", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-outage-" });
  await Deno.chmod(dataDir, 0o755);
  try {
    await using server = await startEmbedded({ dataDir, port: 0 });
    await using one = await startService(server.url);
    await using two = await startService(server.url);
    const services = [one, two];
    const sql = postgres(server.superuserUrl, { max: 1, onnotice: () => {} });
    const realms: CrashRealm[] = [];
    const tenant = await makeTenant(sql, server.url);
    const apart = await makeRealm(one, 2, tenant.url);
    while (realms.length < REALMS) realms.push(await makeRealm(one, 2));
    for (const [n, outage] of OUTAGES.entries()) {
      await t.step(outage.name, async () => {
        const broken = outage.apart ? apart : realms[n];
        const at = outage.apart ? tenant.name : `realm_${broken.schema.replaceAll("-", "")}`;
        await Promise.all(services.map((service) => goesOn(service, broken)));
        await using _mended = await broke(sql, outage, at);
        const refused = until(async () => { // at once, but for connections made that moment
          await sql.unsafe(disconnect(at));
          return await isRefused(services, broken);
        });
        const others = realms.filter((realm) => realm !== broken);
        await Promise.all([
          refused,
          ...services.flatMap((service) => others.map((realm) => goesOn(service, realm))),
        ]);
        for (let i = 0; i < (outage.apart ? 1 : 5); i++) {
          ok(await isRefused(services, broken), "it stays so");
        }
      });
      await t.step(`${outage.name}: mended`, async () => {
        await Promise.all(
          services.map((service) => goesOn(service, outage.apart ? apart : realms[n])),
        );
      });
    }
    // Its login makes roles and realms; requests use logins of the platform and of the realms, which it drew.
    await t.step("the passwords of all its logins were changed", async () => {
      await sql.unsafe(`create table kept as select rolname, rolpassword from pg_authid
        where rolpassword is not null and not rolsuper`);
      const setPasswords = async (password: string) =>
        void await sql.unsafe(`do $$ declare r record; begin
          for r in select * from kept loop
            execute format('alter role %I password %L', r.rolname, ${password});
          end loop;
        end $$`);
      try {
        await setPasswords("'another'");
        await until(async () => {
          await sql.unsafe(disconnect(null));
          return await isRefused(services, realms[0]);
        });
        ok(await isRefused(services, realms[0]), "it stays so");
      } finally {
        await setPasswords("r.rolpassword");
      }
      await Promise.all(services.map((service) => goesOn(service, realms[0])));
    });
    await sql.end();
    await Promise.all(services.map((service) => service.up()));
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

async function makeTenant(
  sql: postgres.Sql,
  serverUrl: string,
): Promise<{ name: string; url: string }> {
  const name = "tenant";
  await sql.unsafe(`create role ${name} login createrole password '${TENANT_PASSWORD}'`);
  await sql.unsafe(`create database ${name} owner ${name}`);
  const url = new URL(serverUrl);
  url.username = name;
  url.password = TENANT_PASSWORD;
  url.pathname = name;
  return { name, url: url.href };
}

/** Breaks it, and mends it in the end, so that what failed here fails nowhere else. */
async function broke(sql: postgres.Sql, outage: Outage, at: string): Promise<AsyncDisposable> {
  // A database in use cannot be renamed; nor can one with a connection that is just being made.
  await until(async () => {
    if (outage.apart) await sql.unsafe(disconnect(at));
    return await sql.unsafe(outage.breakIt(at)).then(() => true, (error) => {
      if (error.code !== IN_USE) throw error;
      return false;
    });
  });
  return { [Symbol.asyncDispose]: async () => void await sql.unsafe(outage.mendIt(at)) };
}

/** Whether everything asked of a realm is answered 503; a request that still has a connection may succeed. */
async function isRefused(services: readonly Service[], realm: CrashRealm): Promise<boolean> {
  const answers = await Promise.all(services.flatMap((service) => [
    ...Array.from({ length: 4 }, () => move(service, realm)),
    ...Array.from({ length: 4 }, () => read(service, realm)),
  ]));
  for (const { status, code } of answers) {
    ok(
      [200, 201].includes(status) || status === 503 && code === "service.overloaded",
      `${status} ${code}\n${services.flatMap((service) => service.errors()).join("\n")}`,
    );
  }
  return answers.every(({ status }) => status === 503);
}

/** Reads and moves of this realm are soon answered; until then with nothing but 503. */
async function goesOn(service: Service, realm: CrashRealm): Promise<void> {
  for (const ask of [read, move]) {
    await until(async () => {
      const { status, code } = await ask(service, realm);
      ok([200, 201, 503].includes(status), `${status} ${code}`);
      return status !== 503;
    });
  }
}

async function move(service: Service, realm: CrashRealm): Promise<Answer> {
  const [from, to] = realm.accounts;
  return await ask(service, realm, "POST", "/v1/transactions", {
    source: { account: from },
    destination: { account: to },
    value: "0.001",
  });
}

async function read(service: Service, realm: CrashRealm): Promise<Answer> {
  return await ask(service, realm, "GET", `/v1/accounts/${realm.accounts[0]}`);
}

async function ask(
  service: Service,
  realm: CrashRealm,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { "x-api-key": realm.key, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const answer = await response.json();
  return { status: response.status, code: answer.code ?? null };
}
