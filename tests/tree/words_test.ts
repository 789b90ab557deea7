/**
 * The glossary shows the words that the linter refuses.
 *
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";
import { RETIRED, retiredIn } from "../../lint/words.ts";

const GLOSSARY = new URL("../../docs/glossary.md", import.meta.url);

Deno.test("the retired words of the glossary are those that the linter refuses", async () => {
  const [, section] = (await Deno.readTextFile(GLOSSARY)).split("\n## Retired words\n");
  const [, parts, whole] = section.split(/^\| Retired.*$/m);
  const listed = [...rowsOf(parts, false), ...rowsOf(whole, true)];
  deepEqual(listed, RETIRED.map(({ word, instead, whole }) => ({ word, instead, whole })));
});

Deno.test("a retired word is listed once", () => {
  const words = RETIRED.map(({ word }) => word);
  deepEqual(words.length, new Set(words).size);
});

Deno.test("retiredIn() finds a word in each way of writing a name, and nothing inside a word", () => {
  for (const name of ["rogueNode", "ROGUE_NODE", "isRogue", "rogue_node", "rogue"]) {
    ok(retiredIn(name)?.word === "rogue", name);
  }
  for (const name of ["brogue", "lookUp", "outlook", "benchmark"]) deepEqual(retiredIn(name), null);
});

function rowsOf(table: string, whole: boolean) {
  return [...table.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].flatMap(([, words, instead]) =>
    wordsIn(words).map((word) => ({ word, instead, whole }))
  );
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word);
}
