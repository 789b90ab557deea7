/** How commands are called: `--help` and wrong arguments do nothing else, whatever is configured. @module */
import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { isExpected, listen, StartError } from "../../commands/context.ts";
import { formatRound } from "../../commands/audit.ts";
import { COMMAND_NAMES, type CommandName } from "../../config/usages.ts";
import { newId } from "../../domain/ids.ts";
import type { CalledMain } from "../support/called_main.ts";
import { freePort } from "../support/ports.ts";
import { taskArgs } from "../support/tasks.ts";

const FLAGS = ["run", "--no-prompt", "--no-check", "--cached-only"];
const MAIN = [...FLAGS, "main.ts"];

/** Runs Deno to its end, with few settings and, but for the task of a launcher, without a right. */
async function run(args: readonly string[], env: Record<string, string> = {}) {
  const home = ["HOME", "PATH", "DENO_DIR"].map((name) => [name, Deno.env.get(name)]);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    ...{ args: [...args], stdin: "null", clearEnv: true },
    env: { ...Object.fromEntries(home.filter(([, value]) => value !== undefined)), ...env },
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out, err };
}

/** Calls the main function with lists of arguments in one process that has no right, as its commands would be run. */
async function runAll(lists: readonly (readonly string[])[]): Promise<CalledMain[]> {
  const driver = ["--config", "deno.json", "tests/support/called_main.ts", JSON.stringify(lists)];
  const { code, out, err } = await run([...FLAGS, ...driver]);
  deepEqual([code, err], [0, ""]);
  return JSON.parse(out);
}

Deno.test("--help tells how a command is called, and does nothing else", async () => {
  const lists = COMMAND_NAMES.map((name) => [name, "--help"]).concat([["start", "-h"]]);
  for (const [at, { code, out, err }] of (await runAll(lists)).entries()) {
    const [name] = lists[at];
    deepEqual([code, err], [0, ""], name);
    match(out, new RegExp(`^${name}: .*\nusage: ${name}`), name);
  }
  const { code, out, err } = await run([...MAIN, "start", "--help"]);
  deepEqual([code, err], [0, ""]);
  match(out, /^start: .*\nusage: start/);
  const folder = await Deno.makeTempDir({ prefix: "purser-help-" });
  try {
    const launched = await run([...await taskArgs("audit"), "--realm", "x", "--help"], {
      DATA_DIR: `${folder}/data`,
    });
    deepEqual([launched.code, launched.err], [0, ""]);
    match(launched.out, /^audit: .*\nusage: audit/);
    deepEqual(await Array.fromAsync(Deno.readDir(folder)), [], "no database is started");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("--help tells how each tool of the repository is called, and does nothing else; no check has a mistyped name", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile("deno.json"));
  const tools = Object.keys(tasks).filter((name) => !/launcher|main\.ts/.test(tasks[name]));
  ok(
    ["bench", "check", "openapi-examples", "schema", "test", "verify"].every((name) =>
      tools.includes(name)
    ),
  );
  await Promise.all(tools.map(async (name) => {
    const { code, out, err } = await run(["task", "--quiet", name, "--help"]);
    const called = name === "openapi-examples" ? "test" : name; // a run of one test
    deepEqual([code, /rror/.test(err)], [0, false], `${name}: ${err}`);
    match(out, new RegExp(`^${called}: .*\nusage: .*${called}`), name);
  }));
  const mistyped = await run(["task", "--quiet", "check", "fromat"]);
  deepEqual([mistyped.code, mistyped.out], [1, ""]);
  match(mistyped.err, /^there is no check fromat: format, lint, /m); // after what was fetched first
});

Deno.test("an auditor's command that gets no answer says neither sound nor broken", async () => {
  const url = `http://127.0.0.1:${freePort()}`;
  const { code, out, err } = await run(["task", "--quiet", "verify", "--url", url], {
    PURSER_KEY: "a-key-of-the-tests",
  });
  deepEqual([code, out], [3, ""]);
  match(err, /^not verified: [^\n]+\n$/);
  ok(!err.includes("a-key-of-the-tests"));
});

Deno.test("wrong arguments are refused before the settings are read or the database is opened", async () => {
  const wrong: Readonly<Record<CommandName, readonly [string, RegExp]>> = {
    start: ["now", /^start takes no now$/],
    worker: ["--now", /^worker takes no --now$/],
    migrate: ["--new-login", /^migrate takes no --new-login$/],
    realm: ["move 7 --cancel", /^7 is no id of a realm$/],
    "rotate-master-key": ["now", /takes no now$/],
    "rotate-platform-key": ["now", /takes no now$/],
    reconcile: ["--gap much", /^much is no number$/],
    networks: ["--forget PURSECOIN main", /^PURSECOIN is no chain$/],
    audit: ["--realm 7", /^7 is no id of a realm$/],
    archive: ["--when", /^Unknown option '--when'/],
    backup: ["--keep 0", /^--keep is a number from 1/],
    restore: ["--check", /^the file is named first$/],
  };
  const lists = Object.entries(wrong).map(([name, [args]]) => [name, ...args.split(" ")]);
  // As a process too: one that serves, and one that does not.
  const processes = lists.filter(([name]) => name === "start" || name === "audit");
  const alone = await Promise.all(processes.map((args) => run([...MAIN, ...args])));
  const ended = [...await runAll(lists), ...alone];
  for (const [at, [name]] of [...lists, ...processes].entries()) {
    const { code, out, err } = ended[at];
    const [first, usage] = err.split("\n");
    deepEqual([code, out], [1, ""], name);
    match(first, wrong[name as CommandName][1]);
    match(usage, new RegExp(`^usage: ${name}`));
  }
});

Deno.test("no command takes a password in an argument, or shows it, and each says what it reads instead", async () => {
  const secret = "a-password-of-tests";
  const address = `postgres://login:${secret}@127.0.0.1/realms`;
  const flags = ["--name", "x", "--email", "x@example.com"];
  const wrong: readonly (readonly string[])[] = [
    ["realm", "create", ...flags, "--password", secret],
    ["realm", "create", ...flags, "--database-url", address],
    ["realm", "create", JSON.stringify({ name: "x", admin: { password: secret } })],
    ["realm", "move", newId(Date.now()), "--to", address],
    ["restore", "backup.age", "--to", address],
  ];
  for (const [at, { code, out, err }] of (await runAll(wrong)).entries()) {
    deepEqual([code, out], [1, ""], wrong[at].join(" "));
    match(err, /users of this host see arguments.*standard input[^]*usage: /);
    ok(!err.includes(secret), err);
  }
  // Nobody is asked for what standard input does not have.
  for (const args of [["realm", "create", ...flags], ["restore", "backup.age", "--to", "-"]]) {
    const { code, err } = await run([...MAIN, ...args]);
    equal(code, 1);
    match(err, /is read from standard input, which is empty/);
  }
  const shown = await runAll([["realm", "--help"], ["restore", "--help"]]);
  for (const { out } of shown) match(out, /on standard input/);
});

Deno.test("a key for backups is drawn without settings and without a database", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-key-" });
  try {
    const env = { DATA_DIR: `${folder}/data` };
    const { code, out, err } = await run([...await taskArgs("backup"), "--new-key"], env);
    equal(code, 0, err);
    match(out, /^AGE-SECRET-KEY-1[0-9A-Z]+$/m);
    match(err, /^BACKUP_RECIPIENTS=age1[0-9a-z]+$/m);
    deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a port that is in use is named", () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  throws(
    () => listen({ host: "127.0.0.1", port }, () => new Response()),
    (error) =>
      error instanceof StartError && error.message.includes(`127.0.0.1:${port} is in use`) &&
      error.message.includes("PORT"),
  );
});

Deno.test("a file that cannot be used is told by its path, without a stack", async () => {
  await rejects(Deno.stat("/nonexistent/backup.age"), (error) => {
    ok(isExpected(error));
    return /nonexistent/.test((error as Error).message);
  });
  await rejects(
    Deno.readTextFile("docs"),
    (error) => isExpected(error) && /docs/.test(error.message),
  );
  equal(isExpected(new Deno.errors.NotFound("nobody knows what")), false);
  equal(isExpected(new TypeError("a defect of 'ours'")), false);
});

Deno.test("an audit of a database without realms, which may be the wrong one, does not call it sound", () => {
  const [line, ...more] = formatRound(0, []);
  deepEqual([/no realm/.test(line), /sound/.test(line), more], [true, false, []]);
  deepEqual(formatRound(1, []), []);
  deepEqual(formatRound(2, []), ["2 realms: all sound"]);
});
