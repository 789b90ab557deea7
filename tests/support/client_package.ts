/**
 * `deno task client`: builds the npm package of the client into client/dist, a module without dependencies and its
 * types for each entry. JSR takes the sources as they are.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { build, type Plugin, stop } from "esbuild";
import ts from "typescript";
import { readPackages } from "../../lint/locks.ts";
import { answeredHelp } from "../../lint/usages.ts";

const FOLDER = new URL("../../client/", import.meta.url);
/** Entries of the package. */
export const ENTRIES = ["client", "webhooks", "decimal"];

/** Builds the package into a folder. */
export async function buildClient(folder: URL): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  try {
    await build({
      entryPoints: ENTRIES.map((name) => fileURLToPath(new URL(`${name}.ts`, FOLDER))),
      outdir: fileURLToPath(folder),
      bundle: true,
      minify: true,
      format: "esm",
      // Nothing of a runtime: the same file runs in all.
      platform: "neutral",
      mainFields: ["module", "main"],
      target: "es2022",
      legalComments: "none",
      logLevel: "error",
      plugins: [await packagesOfDeno()],
    });
  } finally {
    await stop();
  }
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (!name.endsWith(".ts")) continue;
    const source = await Deno.readTextFile(new URL(name, FOLDER));
    await Deno.writeTextFile(
      new URL(name.replace(/\.ts$/, ".d.ts"), folder),
      typesOf(name, source),
    );
  }
}

/** Declarations of a module, whose imports lead to those of others. */
function typesOf(fileName: string, source: string): string {
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(source, {
    fileName,
    reportDiagnostics: true,
    compilerOptions: { isolatedDeclarations: true, strict: true, target: ts.ScriptTarget.ES2022 },
  });
  const [fault] = diagnostics;
  if (fault) {
    throw new Error(`${fileName}: ${ts.flattenDiagnosticMessageText(fault.messageText, " ")}`);
  }
  return outputText.replace(/(from "\.\/\w+)\.ts"/g, '$1.js"')
    .replace(/^\/\/ @ts-types=.*\n/m, "");
}

/** Finds packages in Deno's cache, in the versions of the lock file. */
async function packagesOfDeno(): Promise<Plugin> {
  const cache = fileURLToPath(/^(file:.*\/)postgres\/\d/.exec(import.meta.resolve("postgres"))![1]);
  const versions = new Map(
    (await readPackages(["tests/deno.lock"])).map(({ name, version }) => [name, version]),
  );
  return {
    name: "packages",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^[@a-z]/ }, ({ path, kind, pluginData }) => {
        if (pluginData === "found" || kind === "entry-point") return undefined;
        const resolveDir = `${cache}${path}/${versions.get(path)}`;
        return resolve("./", { kind, resolveDir, pluginData: "found" });
      });
    },
  };
}

if (import.meta.main && !answeredHelp("client")) await buildClient(new URL("dist/", FOLDER));
