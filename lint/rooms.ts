/**
 * Where a file stands in the house: its path from the project's root and the room it belongs to.
 * Every other rule starts from this answer.
 *
 * @module
 */

/** A folder, or one of the three top-level files, that has rules of its own. */
export type Room =
  | "main"
  | "launcher"
  | "config"
  | "log"
  | "routes"
  | "domain"
  | "db"
  | "workers"
  | "tests"
  | "bench"
  | "lint"
  | "examples"
  | "ci";

/** A file as the rules see it; `room` is null where no room is known. */
export interface Place {
  /** From the project's root, with forward slashes: `routes/aliases.ts`. */
  readonly path: string;
  readonly room: Room | null;
}

/** The four rooms whose code is the service itself. */
export const PRODUCT: readonly Room[] = ["routes", "domain", "db", "workers"];

/** Places that try the service out or stand around it, and are not shipped. */
export const AROUND: readonly Room[] = ["tests", "bench", "lint", "examples", "ci"];

const TOP_LEVEL: Readonly<Record<string, Room>> = {
  "main.ts": "main",
  "config.ts": "config",
  "log.ts": "log",
};

const FOLDERS: Readonly<Record<string, Room>> = {
  routes: "routes",
  domain: "domain",
  db: "db",
  workers: "workers",
  tests: "tests",
  bench: "bench",
  lint: "lint",
  examples: "examples",
  launcher: "launcher",
  process: "main",
  config: "config",
  ".ci": "ci",
};

const ROOT = new URL("../", import.meta.url).pathname;

/** Finds the place of a file named by an absolute path, or by one from the project's root. */
export function placeOf(filename: string): Place {
  const slashed = filename.replaceAll("\\", "/");
  const path = slashed.startsWith(ROOT) ? slashed.slice(ROOT.length) : slashed;
  const slash = path.indexOf("/");
  if (slash < 0) return { path, room: TOP_LEVEL[path] ?? null };
  return { path, room: FOLDERS[path.slice(0, slash)] ?? null };
}

/** Tells whether a place lies in one of the rooms named. */
export function inRoom(place: Place, rooms: readonly Room[]): boolean {
  return place.room !== null && rooms.includes(place.room);
}
