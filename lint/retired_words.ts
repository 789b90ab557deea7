/**
 * `deno task words`: counts, for each retired word, the names that still contain it, by folder.
 *
 * @module
 */
import { NOT_YET, RETIRED, retiredIn } from "./words.ts";

const ROOT = new URL("../", import.meta.url);
const SKIPPED = /^(\.git|\.data|node_modules)$/;
/** Comments and texts, which are passed over, or a name. */
const TOKENS =
  /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|([A-Za-z_$][\w$]*)/g;

type Counts = Map<string, Map<string, number>>;

if (import.meta.main) print(await count());

/** Counts names by word and folder. */
async function count(): Promise<Counts> {
  const counts: Counts = new Map();
  for await (const path of modules("")) {
    const folder = path.split("/").slice(0, -1).slice(0, 2).join("/") || path;
    const text = await Deno.readTextFile(new URL(path, ROOT));
    for (const [, name] of text.matchAll(TOKENS)) {
      const word = name === undefined ? null : retiredIn(name)?.word ?? null;
      if (word === null) continue;
      const of = counts.get(word) ?? new Map<string, number>();
      counts.set(word, of.set(folder, (of.get(folder) ?? 0) + 1));
    }
  }
  return counts;
}

async function* modules(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", ROOT))) {
    if (SKIPPED.test(name)) continue;
    if (isDirectory) yield* modules(`${folder}${name}/`);
    else if (name.endsWith(".ts")) yield folder + name;
  }
}

function print(counts: Counts): void {
  const sum = (of: Map<string, number>) => [...of.values()].reduce((all, one) => all + one, 0);
  const left = [...counts].sort(([, a], [, b]) => sum(b) - sum(a));
  for (const [word, of] of left) {
    const where = [...of].sort(([, a], [, b]) => b - a).map(([folder, n]) => `${folder} ${n}`);
    console.log(`${word.padEnd(16)}${String(sum(of)).padStart(6)}  ${where.join(", ")}`);
  }
  const gone = RETIRED.filter(({ word }) => !counts.has(word)).map(({ word }) => word);
  const free = gone.filter((word) => NOT_YET.has(word));
  console.log(`${left.length} of ${RETIRED.length} words are left.`);
  if (free.length > 0) {
    console.log(`Gone, and still in NOT_YET of lint/words.ts: ${free.join(" ")}`);
  }
}
