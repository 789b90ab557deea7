/**
 * The container image, read as its builder and its engine read it: tests need no engine. The health check is run as it
 * stands.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { parse } from "yaml";
import { settingNames } from "../../config.ts";

/** The checked fields of a service of compose.yaml. */
interface Service {
  build?: string;
  command?: string[];
  environment: Record<string, string>;
  ports?: string[];
  networks: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt: string[];
  mem_limit: string;
  memswap_limit: string;
  pids_limit: number;
  privileged?: boolean;
  volumes?: string[];
  profiles?: string[];
  entrypoint?: string[];
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  configs: { login: { content: string } };
}

const ROOT = new URL("../../", import.meta.url);
const read = (name: string) => Deno.readTextFile(new URL(name, ROOT));
const readCompose = async (): Promise<Compose> =>
  parse(await read("compose.yaml"), { merge: true });

/** The instructions of the Dockerfile, without comments. */
async function instructions(): Promise<{ name: string; rest: string }[]> {
  const text = (await read("Dockerfile")).replaceAll(/\\\n\s*/g, "");
  return text.split("\n").filter((line) => /^[A-Z]/.test(line)).map((line) => {
    const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line)!;
    return { name, rest };
  });
}

async function restOf(name: string): Promise<string[]> {
  return (await instructions()).filter((one) => one.name === name).map(({ rest }) => rest);
}

Deno.test("the image runs as nobody's root, with no right to run a program or to write", async () => {
  const found = await instructions();
  const at = (name: string) => found.findIndex((one) => one.name === name);
  deepEqual(await restOf("USER"), ["deno"]);
  ok(at("USER") < at("ENTRYPOINT"));
  const [entry] = await restOf("ENTRYPOINT");
  const args: string[] = JSON.parse(entry);
  deepEqual(args.slice(0, 2), ["deno", "run"]);
  equal(args.at(-1), "main.ts");
  deepEqual(args.slice(2, -1).sort(), [
    ...[
      "--allow-env",
      "--allow-net",
      "--allow-read=/app/migrations,/app/workers/gateways/exchanges",
      "--cached-only",
    ],
    ...["--deny-import", "--frozen", "--no-prompt", "--v8-flags=--no-allocation-site-pretenuring"],
  ]);
});

Deno.test("the image holds every module that the service loads, and nothing else is sent to its builder", async () => {
  const copied = (await restOf("COPY")).flatMap((rest) => rest.split(" ").slice(0, -1));
  const ignored = (await read(".dockerignore")).split("\n").filter((line) => /^[^#]/.test(line));
  equal(ignored[0], "*");
  const sent = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  deepEqual(sent.toSorted(), copied.toSorted());
  const left = ignored.slice(1).filter((line) => !line.startsWith("!"));
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "main.ts"],
    cwd: ROOT,
  }).output();
  const { modules }: { modules: { specifier: string }[] } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const paths = modules.filter(({ specifier }) => specifier.startsWith(ROOT.href))
    .map(({ specifier }) => specifier.slice(ROOT.href.length));
  ok(paths.length > 100, `${paths.length}`);
  for (const path of [...paths, "migrations/rights.sql"]) {
    ok(copied.some((one) => path === one || path.startsWith(`${one}/`)), `${path} is not copied`);
    const kept = left.filter((line) => path.startsWith(line.replace("*", "")));
    deepEqual(kept, [], `${path} is not sent`);
  }
});

Deno.test("the health check starts no interpreter, and distinguishes a service that answers from one that does not", async () => {
  const [, command] = /CMD (\[.*\])$/.exec((await restOf("HEALTHCHECK"))[0])!;
  const [program, ...args]: string[] = JSON.parse(command);
  equal(/deno|node|python/.test(command), false);
  const checkOn = async (port: number) =>
    (await new Deno.Command(program, { args, env: { PORT: `${port}` }, stderr: "null" }).output())
      .success;
  const asked: string[] = [];
  let status = 200;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return new Response("{}", { status });
  });
  const { port } = server.addr;
  equal(await checkOn(port), true);
  status = 503;
  equal(await checkOn(port), false);
  await server.shutdown();
  equal(await checkOn(port), false);
  deepEqual(asked, ["/health/live", "/health/live"]);
});

Deno.test("compose runs both halves without rights of the host, within bounds", async () => {
  const { services } = await readCompose();
  const halves = Object.entries(services).filter(([, { build }]) => build !== undefined);
  deepEqual(halves.map(([name]) => name), ["purser", "worker", "backup"]);
  for (const [name, half] of halves) {
    equal(half.read_only, true, name);
    deepEqual(half.cap_drop, ["ALL"], name);
    deepEqual(half.volumes, name === "backup" ? ["backups:/backups"] : undefined, name);
  }
  for (const [name, service] of Object.entries(services)) {
    deepEqual(service.security_opt, ["no-new-privileges:true"], name);
    equal(service.privileged, undefined, name);
    match(service.mem_limit, /^\dg$/, name);
    equal(service.memswap_limit, service.mem_limit, name);
    ok(service.pids_limit > 0, name);
  }
});

Deno.test("compose gives the master key to the half that nobody can reach, and the other none", async () => {
  const { services: { purser, worker, database }, networks } = await readCompose();
  deepEqual([purser.command, worker.command], [["start"], ["worker"]]);
  equal(purser.environment.WORKERS, "off");
  equal("MASTER_KEY" in purser.environment, false);
  equal("MASTER_KEY" in worker.environment, true);
  deepEqual([worker.ports, database.ports], [undefined, undefined]);
  for (const port of purser.ports!) match(port, /^127\.0\.0\.1:/);
  deepEqual(database.networks, ["database"]);
  equal(networks.database.internal, true);
  equal(purser.networks.some((one) => one !== "database" && worker.networks.includes(one)), false);
  const known = settingNames();
  for (const { environment } of [purser, worker]) {
    for (const name of Object.keys(environment)) {
      ok(known.has(name) || name === "DENO_V8_FLAGS", name);
    }
    ok(environment.BASE_URL !== undefined);
  }
});

Deno.test("compose's backup job can read and write its folder, reach the database, and decrypt nothing", async () => {
  const { services: { backup, "backup-folder": folder } } = await readCompose();
  deepEqual([backup.command, backup.profiles], [["backup", "--keep", "14"], ["backup"]]);
  const [entry] = await restOf("ENTRYPOINT");
  const served: string[] = JSON.parse(entry);
  const more = backup.entrypoint!.filter((flag) => !served.includes(flag));
  deepEqual(more, ["--allow-read=/app/migrations,/backups", "--allow-write=/backups"]);
  const known = settingNames();
  for (const name of Object.keys(backup.environment)) {
    ok(known.has(name) || name === "DENO_V8_FLAGS", name);
  }
  for (const name of ["MASTER_KEY", "BACKUP_IDENTITY_FILE"]) {
    equal(name in backup.environment, false, name);
  }
  deepEqual(backup.networks, ["database"]);
  deepEqual([folder.volumes, folder.cap_drop], [["backups:/backups"], ["ALL"]]);
});

Deno.test("compose connects the service as a role that is no superuser", async () => {
  const { services: { purser, database }, configs: { login } } = await readCompose();
  const user = /^postgres:\/\/(\w+):/.exec(purser.environment.DATABASE_URL)![1];
  // The image's own user is a superuser: `postgres` unless POSTGRES_USER names another.
  equal(database.environment.POSTGRES_USER, undefined);
  equal(user, "purser");
  const [, rights] = /create role purser ([^;]*);/.exec(login.content)!;
  deepEqual(rights.split(" "), ["login", "createrole", "password", ":'password'"]);
  equal(
    /POSTGRES_PASSWORD:\?/.exec(database.environment.POSTGRES_PASSWORD),
    null,
    "two passwords",
  );
});

Deno.test("the statements that the guide to an installation shows are those that compose runs", async () => {
  const { configs: { login } } = await readCompose();
  const [, run] = /<<'SQL'\n([^]*)SQL\n$/.exec(login.content)!;
  const [, shown] = /```sql\n([^]*?)```/.exec(await read("docs/operations/install.md"))!;
  equal(shown, run.replaceAll("$$", () => "$"));
});

Deno.test("compose and the manifests give no program a password in its arguments", async () => {
  const { configs: { login } } = await readCompose();
  const [psql, next] = login.content.split("\n").slice(
    login.content.split("\n").findIndex((line) => line.includes("psql")),
  );
  equal(/password/i.test(psql), false, psql);
  equal(next.trim(), "\\getenv password PURSER_PASSWORD");
  const manifests = await Deno.readTextFile("deploy/kubernetes.yaml");
  equal(/--from-literal/.test(manifests), false);
  equal(manifests.match(/create secret generic \S+ --from-env-file=/g)?.length, 2);
});

Deno.test("the image and the builds run one version of Deno", async () => {
  const [argument] = await restOf("ARG");
  const version = /^DENO_IMAGE=denoland\/deno:(\d+\.\d+\.\d+)$/.exec(argument)![1];
  match(await read(".ci/run"), new RegExp(`deno@${version.replaceAll(".", "\\.")} `));
});
