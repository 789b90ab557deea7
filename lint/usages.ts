/** How the tools of this repository are called: what `--help` after one of them tells. @module */

/** The tools: what each does, and what it takes. */
const TOOLS = {
  advisories: ["asks the registry for known advisories about the packages of the lock files", ""],
  bench: [
    "measures speed, as ratios against the database's own limit",
    "[--quick] [--methods] [--own] [--wrk] [--rounds=N] [--seconds=N] [--minutes=N] [--only=text] [--keep=folder];" +
    " bench/run.ts lists the parts that --only names, and their options",
  ],
  check: [
    "format, lint, types and more: all of them, or those that are named",
    "[format | lint | types | promises | docs | lock | licences | openapi | drawings | advisories] …",
  ],
  client: ["builds the npm package of the client into client/dist", ""],
  drawings: [
    "draws the diagrams of docs/ anew into docs/drawings.json, or tells which are old",
    "[--check]",
  ],
  licences: ["writes docs/licences.md anew, from the packages in Deno's cache", ""],
  openapi: [
    "writes client/openapi.json and the client's types anew, or tells whether they are old; refuses what breaks clients",
    "[--check | --breaking]",
  ],
  sbom: ["prints everything that is shipped, as CycloneDX 1.6", "> <file>"],
  schema: ["writes migrations/*.schema.sql anew, from a database with all migrations", ""],
  test: [
    "runs the tests: all, which takes twenty to thirty minutes on two cores, or the files that are named",
    "[<file>…] [--filter <part of a title>] [any option of `deno test`]",
  ],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

/** A tool of this repository. */
export type Tool = keyof typeof TOOLS;

/** Prints how a tool is called, where the arguments ask for that; whether it did. */
export function answeredHelp(tool: Tool, args: readonly string[] = Deno.args): boolean {
  if (!args.includes("--help") && !args.includes("-h")) return false;
  const [purpose, form] = TOOLS[tool];
  console.log(`${tool}: ${purpose}\n${`usage: ${tool} ${form}`.trimEnd()}`);
  return true;
}
