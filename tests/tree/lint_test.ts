/**
 * Every house rule on snippets that it must refuse and on their nearest neighbours that it must
 * leave alone.
 *
 * @module
 */

import { deepEqual, equal } from "node:assert/strict";
import plugin from "../../lint/plugin.ts";
import { LAYER_CASES } from "./layer_snippets.ts";
import { CASES as OTHER_CASES } from "./lint_snippets.ts";

const CASES = { ...LAYER_CASES, ...OTHER_CASES };

for (const [rule, { refuses, allows }] of Object.entries(CASES)) {
  Deno.test(`house/${rule} refuses forbidden code`, () => {
    for (const [file, source] of refuses) {
      equal(broken(file, source).has(`house/${rule}`), true, `${file} passes:\n${source}`);
    }
  });
  Deno.test(`house/${rule} leaves the rest alone`, () => {
    for (const [file, source] of allows) {
      equal(broken(file, source).has(`house/${rule}`), false, `${file} is refused:\n${source}`);
    }
  });
}

Deno.test("every house rule has its snippets", () => {
  deepEqual(Object.keys(CASES).sort(), Object.keys(plugin.rules).sort());
});

Deno.test("a fault is reported at the line that has it", () => {
  const source = `/** 😀 é */\nimport "zod";\nimport { log } from "../log.ts";\n`;
  const [fault] = Deno.lint.runPlugin(plugin, "domain/ledger.ts", source);
  equal(source.slice(...fault.range), `import { log } from "../log.ts";`);
  equal(fault.message, "domain may not import log");
});

function broken(file: string, source: string): Set<string> {
  return new Set(Deno.lint.runPlugin(plugin, file, source).map((fault) => fault.id));
}
