/**
 * The client as it is published: its size, its types, and the built files in Node, Bun and a browser in front of the
 * service.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import ts from "typescript";
import { readPackages } from "../../lint/locks.ts";
import { serve } from "../support/client_fixture.ts";
import { findBrowser, isInstalled, startBrowser } from "../support/browser.ts";
import { buildClient, ENTRIES } from "../support/client_package.ts";
import { listen } from "../support/listening.ts";
import { testRealm } from "../support/realm.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const FOLDER = new URL("../../client/", import.meta.url);
/** What the main entry may weigh, in bytes after gzip. */
const SIZE_MAX = 15_000;

interface Built extends AsyncDisposable {
  folder: URL;
  path: string;
}

/** Builds the package as `deno task client` does. */
async function built(): Promise<Built> {
  const path = await Deno.makeTempDir({ prefix: "purser-client-" });
  const folder = new URL(`file://${path}/`);
  await buildClient(folder);
  await Deno.writeTextFile(new URL("package.json", folder), `{"type": "module"}`);
  return {
    ...{ folder, path },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

async function json(name: string) {
  return JSON.parse(await Deno.readTextFile(new URL(name, FOLDER)));
}

Deno.test("both registries get the same package, of the very versions that are tested", async () => {
  const [jsr, npm, tests] = await Promise.all(
    ["deno.json", "package.json", "../tests/deno.json"].map(json),
  );
  deepEqual([jsr.name, jsr.version, jsr.license], [npm.name, npm.version, npm.license]);
  for (const [name, target] of Object.entries(jsr.imports)) equal(tests.imports[name], target);
  deepEqual(
    Object.entries(npm.dependencies).map(([name, version]) => `npm:${name}@${version}`),
    [jsr.imports["@types/big.js"]],
  );
  deepEqual(Object.values(jsr.exports), ENTRIES.map((name) => `./${name}.ts`));
  const entries = Object.entries<Record<string, string>>(npm.exports)
    .filter(([name]) => name in jsr.exports);
  deepEqual(
    entries.map(([, one]) => [one.types, one.default]),
    ENTRIES.map((name) => [`./dist/${name}.d.ts`, `./dist/${name}.js`]),
  );
});

/** A program of a customer, whichever runtime it is in; it gives what came of it. */
const PROGRAM = `
import { createClient, isProblem } from "./client.js";
import { verifyWebhook } from "./webhooks.js";
import { sum } from "./decimal.js";

export async function main(url, key, source, id, delivery) {
  const purser = createClient({ url, key });
  const body = { name: "RUN" + id.slice(-12).toUpperCase(), supply: "10", rate: "0.10" };
  const { rate } = await purser.post("/v1/currencies", { body });
  const move = (value) => ({
    body: { source: { account: source }, destination: { account: id }, value },
  });
  const { amount } = await purser.post("/v1/transactions", move("0.1"));
  const poor = await purser.post("/v1/transactions", move("100")).catch((error) => error);
  const { headers: read } = await purser.request("get", "/v1/accounts/{id}", { path: { id } });
  let accounts = 0;
  for await (const one of purser.items("/v1/accounts/all", { query: { limit: 1 } })) accounts += 1;
  const saying = async (work) => {
    try {
      return await work();
    } catch (error) {
      return String(error);
    }
  };
  const wrongKey = await saying(() =>
    createClient({ url, key: key + "\\n" }).get("/v1/auth/me")
  );
  const forged = await saying(() => verifyWebhook("whsec_Zm9yZ2Vk", "{}", new Headers()));
  const { secret, text, headers } = JSON.parse(delivery);
  let streamed;
  for await (const event of purser.events({ after: "00000000-0000-7000-8000-000000000000" })) {
    streamed = event.type;
    break;
  }
  return {
    ...{ rate, amount, listed: accounts > 2, sum: sum(["0.1", "0.2"]), forged, streamed },
    poor: isProblem(poor, "balance.insufficient"),
    hasEtag: read.has("etag"),
    verified: verifyWebhook(secret, text, headers).type,
    isSecret: !wrongKey.includes(key),
  };
}
`;
/** Runs the program from a command line. */
const COMMAND = `
import { main } from "./program.js";
console.log(JSON.stringify(await main(...process.argv.slice(2))));
`;
const OUTCOME = {
  ...{ rate: "0.1", amount: "0.1", listed: true, sum: "0.3", hasEtag: true },
  forged: "WebhookError: the signature, the time or a header of the delivery is wrong",
  streamed: "transaction.created",
  ...{ poor: true, verified: "transaction.created", isSecret: true },
};

/** Runs the program in front of the service; `run` is given its arguments. */
async function runProgram(
  files: Built,
  origin: string | null,
  run: (args: string[]) => Promise<unknown>,
): Promise<void> {
  const env = { ...PRIVATE.env, ...(origin === null ? {} : { CORS_ORIGINS: origin }) };
  await using realm = await testRealm({ ...PRIVATE, env });
  await using service = serve(realm);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const hook = { url: `${receiver.url}/hook`, events: ["transaction.created"] };
  const { body: { secret } } = await realm.admin.send("POST", "/v1/webhooks", hook);
  await listen(realm);
  const { name, account } = await realm.currency("1");
  const other = await realm.account({ asset: name });
  await worker.run();
  const [{ text, headers }] = receiver.received;
  const delivery = JSON.stringify({ secret, text, headers: Object.fromEntries(headers) });
  await Deno.writeTextFile(new URL("program.js", files.folder), PROGRAM);
  await Deno.writeTextFile(new URL("command.js", files.folder), COMMAND);
  deepEqual(await run([service.url, realm.admin.key, account, other, delivery]), OUTCOME);
}

/** Runs the program in a runtime that is a command. */
function runIn(files: Built, command: string): Promise<void> {
  return runProgram(files, null, async (args) => {
    const { code, stdout, stderr } = await new Deno.Command(command, {
      args: [`${files.path}/command.js`, ...args],
    }).output();
    equal(code, 0, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  });
}

/** Runs the program in a page of another origin. */
async function runInBrowser(files: Built): Promise<void> {
  const pages = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async ({ url }) => {
      const { pathname } = new URL(url);
      if (!pathname.endsWith(".js")) {
        return new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
      }
      const text = await Deno.readTextFile(new URL(`.${pathname}`, files.folder));
      return new Response(text, { headers: { "content-type": "text/javascript" } });
    },
  );
  const origin = `http://127.0.0.1:${pages.addr.port}`;
  try {
    await using browser = await startBrowser();
    await browser.page.open(`${origin}/`);
    await runProgram(files, origin, async (args) =>
      await browser.page.evaluate(
        `import("/program.js").then(({ main }) => main(...${JSON.stringify(args)}))`,
      ));
  } finally {
    await pages.shutdown();
  }
}

/** What a registry would take, by the tool that publishes; nothing is sent. */
async function published(command: string, args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    ...{ args, cwd, env: { NO_COLOR: "1" } },
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  equal(code, 0, text);
  return text;
}

/** The package as both tools find it: its files, and the built ones. */
async function publishable(files: Built): Promise<string> {
  const folder = `${files.path}/package`;
  await Deno.mkdir(`${folder}/dist`, { recursive: true });
  for await (const { name, isFile } of Deno.readDir(FOLDER)) {
    if (isFile) await Deno.copyFile(new URL(name, FOLDER), `${folder}/${name}`);
  }
  for await (const { name, isFile } of Deno.readDir(files.folder)) {
    if (isFile && name !== "package.json") {
      await Deno.copyFile(new URL(name, files.folder), `${folder}/dist/${name}`);
    }
  }
  return folder;
}

/** Bytes of an entry after gzip, which needs nothing of a package or of one runtime. */
async function sizeOf(name: string, { folder }: Built): Promise<number> {
  const text = await Deno.readTextFile(new URL(`${name}.js`, folder));
  const foreign = /\bimport\s*[{"'(*]|\bfrom\s*["']|\brequire\(|\b(Deno|Buffer|Bun)\.[a-z]/.exec(
    text,
  );
  equal(foreign?.[0], undefined, name);
  return gzipSync(text).length;
}

/** A program of a customer whose compiler is strict; what it must refuse says so. */
const CONSUMER = `
import { createClient, isProblem, type ProblemCode, type PurserEvent } from "./client.js";
import { verifyWebhook } from "./webhooks.js";

const purser = createClient({ url: "https://purser.example", key: () => "key" });
export async function works(id: string): Promise<string> {
  const account = await purser.get("/v1/accounts/{id}", { path: { id } });
  const total: string = account.balance.total;
  const [part] = await purser.get("/v1/accounts/all", { query: { fields: ["asset"] } });
  const asset: string | undefined = part.asset;
  for await (const { amount } of purser.items("/v1/transactions", { query: { pageSize: 10 } })) void amount.length;
  const { rows } = await purser.get("/v1/withdrawals");
  const fee: string = rows[0].fee.value;
  void fee;
  for await (const event of purser.events({ types: ["deposit.confirmed"] })) {
    const type: "deposit.confirmed" = event.type;
    if ("amount" in event.data) void event.data.amount.length;
    void type;
  }
  const event: { type: PurserEvent["type"] } = verifyWebhook("secret", "{}", {});
  const code: ProblemCode | null = isProblem(null) ? null as unknown as ProblemCode : null;
  return total + asset + event.type + code;
}
// @ts-expect-error -- an amount is text
void (() => purser.post("/v1/transactions", { body: { source: { account: "a" }, destination: { account: "b" }, value: 1 } }));
// @ts-expect-error -- one of account and alias
void (() => purser.post("/v1/transactions", { body: { source: {}, destination: { alias: "b" }, value: "1" } }));
// @ts-expect-error -- the path has a parameter
void (() => purser.get("/v1/accounts/{id}"));
// @ts-expect-error -- no such path
void (() => purser.get("/v1/account"));
// @ts-expect-error -- the path has no such method
void (() => purser.delete("/v1/transactions/{id}", { path: { id: "a" } }));
// @ts-expect-error -- a body is needed
void (() => purser.post("/v1/accounts"));
// @ts-expect-error -- no such code
void isProblem(null, "balance.missing");
`;

/** Names that the code of the guide takes from its reader's program. */
const GUIDE_NAMES = ["key", "id", "shop", "known", "secret", "body"];

/** The code of the guide, as one module. */
async function guideCode(): Promise<string> {
  const text = await Deno.readTextFile(new URL("../docs/guide/client.md", FOLDER));
  const code = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block);
  const imports = code.flatMap((block) => block.match(/^import .*$/gm) ?? []).join("\n")
    .replaceAll('"@purser/client"', '"./client.js"').replaceAll("@purser/client/", "./")
    .replace(/"(\.\/\w+)"/g, '"$1.js"');
  const blocks = code.map((block) => block.replace(/^import .*$/gm, ""));
  return `${imports}
declare const ${GUIDE_NAMES.map((name) => `${name}: string`).join(", ")}, request: Request;
${blocks.join("\n")}
`;
}

/** The folder of a package in Deno's cache. */
async function cached(wanted: string): Promise<string> {
  const cache = fileURLToPath(/^(file:.*\/)postgres\/\d/.exec(import.meta.resolve("postgres"))![1]);
  const { version } = (await readPackages(["tests/deno.lock"])).find(({ name }) =>
    name === wanted
  )!;
  return `${cache}${wanted}/${version}`;
}

async function typeFaults(files: Built): Promise<string[]> {
  const [path, guide] = ["consumer.ts", "guide.ts"]
    .map((name) => fileURLToPath(new URL(name, files.folder)));
  await Deno.writeTextFile(path, CONSUMER);
  await Deno.writeTextFile(guide, await guideCode());
  const program = ts.createProgram([path, guide], {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    // npm would lay it beside the package, which names it.
    paths: { "big.js": [`${await cached("@types/big.js")}/index.d.ts`] },
  });
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
    const { line } = file?.getLineAndCharacterOfPosition(start ?? 0) ?? { line: 0 };
    return `${file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

Deno.test("the client as it is published", async (t) => {
  await using files = await built();
  await t.step("its main entry weighs less than 15 kB, and no entry imports anything", async () => {
    const [main] = await Promise.all(ENTRIES.map((name) => sizeOf(name, files)));
    ok(main < SIZE_MAX, `${main}`);
  });
  await t.step("npm and JSR take it as it is", async () => {
    const folder = await publishable(files);
    const npm = await published("npm", ["pack", "--dry-run", "--json", "--offline"], folder);
    for (const name of ENTRIES) ok(npm.includes(`dist/${name}.d.ts`), npm);
    const args = ["publish", "--dry-run", "--allow-dirty"];
    const jsr = await published(Deno.execPath(), args, folder);
    ok(jsr.includes("/client.ts") && !jsr.includes("/dist/"), jsr);
  });
  await t.step(
    "it runs in Node in front of the service, as it does in Deno",
    () => runIn(files, "node"),
  );
  await t.step({
    name: "it runs in Bun",
    ignore: !isInstalled("bun"),
    fn: () => runIn(files, "bun"),
  });
  await t.step({
    name: "it runs in a browser, in a page of another origin",
    ignore: findBrowser() === null,
    fn: () => runInBrowser(files),
  });
  await t.step("its types hold in a strict project, and refuse what the API refuses", async () => {
    deepEqual(await typeFaults(files), []);
  });
});
