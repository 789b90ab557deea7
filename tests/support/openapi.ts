/**
 * `deno task openapi` writes the OpenAPI document to client/openapi.json, where clients and reviewers find it; it
 * refuses a change that would break a client of the document that is there, unless `--breaking` says that this is
 * meant. With `--check` it writes nothing and fails where the document is not the routes' own.
 *
 * @module
 */
import { breakingChanges } from "../../lint/openapi_changes.ts";
import { describe } from "../../routes/http/openapi.ts";
import { allRoutes } from "../../routes/http/route_list.ts";

const FILE = new URL("../../client/openapi.json", import.meta.url);

/** Writes the document, or compares it; gives the exit code. */
export async function openapi(args: readonly string[]): Promise<number> {
  const text = `${JSON.stringify(describe(allRoutes()), null, 2)}\n`;
  const before = await Deno.readTextFile(FILE).catch(() => null);
  if (args.includes("--check")) {
    if (before === text) return 0;
    console.error("client/openapi.json is not what the routes say: run `deno task openapi`");
    return 1;
  }
  const breaking = before === null ? [] : breakingChanges(JSON.parse(before), JSON.parse(text));
  for (const line of breaking) console.error(line);
  if (breaking.length > 0 && !args.includes("--breaking")) {
    console.error(`${breaking.length} changes would break clients: nothing was written`);
    return 1;
  }
  await Deno.mkdir(new URL("./", FILE), { recursive: true });
  await Deno.writeTextFile(FILE, text);
  return 0;
}

if (import.meta.main) Deno.exitCode = await openapi(Deno.args);
