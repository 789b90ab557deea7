/**
 * `deno task openapi` writes the OpenAPI document to client/openapi.json, where clients and reviewers find it, and
 * what the client takes from it beside it; it refuses a change that would break a client of the document that is
 * there, unless `--breaking` says that this is meant. With `--check` it writes nothing and fails where a file is not
 * what the routes say.
 *
 * @module
 */
import { breakingChanges } from "../../lint/openapi_changes.ts";
import { describe } from "../../routes/http/openapi.ts";
import { readExamples } from "../../routes/http/openapi_examples.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { printFacts, printTypes } from "./client_schema.ts";
import { answeredHelp } from "../../lint/usages.ts";

const FOLDER = new URL("../../client/", import.meta.url);

/** Writes the document and what is made of it, or compares them; gives the exit code. */
export async function openapi(args: readonly string[]): Promise<number> {
  const examples = await readExamples();
  const text = `${JSON.stringify(describe(allRoutes(), { examples }), null, 2)}\n`;
  // Types need no examples, and share more without them.
  const document = JSON.parse(JSON.stringify(describe(allRoutes())));
  const files = {
    "openapi.json": text,
    "schema.ts": await printTypes(document),
    "wire.ts": printFacts(document),
  };
  const before = await read("openapi.json");
  if (args.includes("--check")) return await compare(files);
  const breaking = before === null ? [] : breakingChanges(JSON.parse(before), document);
  for (const line of breaking) console.error(line);
  if (breaking.length > 0 && !args.includes("--breaking")) {
    console.error(`${breaking.length} changes would break clients: nothing was written`);
    return 1;
  }
  await Deno.mkdir(FOLDER, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(new URL(name, FOLDER), content);
  }
  return 0;
}

async function compare(files: Readonly<Record<string, string>>): Promise<number> {
  let code = 0;
  for (const [name, content] of Object.entries(files)) {
    if (await read(name) === content) continue;
    console.error(`client/${name} is not what the routes say: run \`deno task openapi\``);
    code = 1;
  }
  return code;
}

async function read(name: string): Promise<string | null> {
  return await Deno.readTextFile(new URL(name, FOLDER)).catch(() => null);
}

if (import.meta.main && !answeredHelp("openapi")) Deno.exitCode = await openapi(Deno.args);
