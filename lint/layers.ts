/**
 * Layers: which layer a source file belongs to, by its path from the project's root. Every other rule
 * starts from this.
 *
 * @module
 */

/** A folder, or one of the five top-level files, that has rules of its own. */
export type Layer =
  | "main"
  | "commands"
  | "launcher"
  | "config"
  | "log"
  | "tracing"
  | "progress"
  | "routes"
  | "domain"
  | "db"
  | "workers"
  | "tests"
  | "bench"
  | "lint"
  | "examples"
  | "client"
  | "ci";

/** A file as the rules see it; `layer` is null where no layer is known. */
export interface SourceFile {
  /** From the project's root, with forward slashes: `routes/aliases.ts`. */
  readonly path: string;
  readonly layer: Layer | null;
}

/** The four layers of the service. */
export const PRODUCT: readonly Layer[] = ["routes", "domain", "db", "workers"];

/** Layers around the service that are not shipped. */
export const AROUND: readonly Layer[] = ["tests", "bench", "lint", "examples", "ci"];

const TOP_LEVEL: Readonly<Record<string, Layer>> = {
  "main.ts": "main",
  "config.ts": "config",
  "log.ts": "log",
  "tracing.ts": "tracing",
  "progress.ts": "progress",
};

const FOLDERS: Readonly<Record<string, Layer>> = {
  routes: "routes",
  domain: "domain",
  db: "db",
  workers: "workers",
  tests: "tests",
  bench: "bench",
  lint: "lint",
  examples: "examples",
  launcher: "launcher",
  commands: "commands",
  client: "client",
  config: "config",
  ".ci": "ci",
};

const ROOT = new URL("../", import.meta.url).pathname;

/** Finds a source file by an absolute path, or by one from the project's root. */
export function sourceFileOf(filename: string): SourceFile {
  const slashed = filename.replaceAll("\\", "/");
  const path = slashed.startsWith(ROOT) ? slashed.slice(ROOT.length) : slashed;
  const slash = path.indexOf("/");
  if (slash < 0) return { path, layer: TOP_LEVEL[path] ?? null };
  return { path, layer: FOLDERS[path.slice(0, slash)] ?? null };
}

/** Whether a file belongs to one of these layers. */
export function inLayer(file: SourceFile, layers: readonly Layer[]): boolean {
  return file.layer !== null && layers.includes(file.layer);
}
