/**
 * The house rules that a linter can check, as a deno-lint plugin. A line that has a reason to
 * differ says so: `// deno-lint-ignore house/<rule> -- <reason>`.
 *
 * @module
 */

import {
  barrel,
  classes,
  declarations,
  defaultExport,
  enums,
  fileName,
  size,
  todo,
} from "./form.ts";
import { imports, packages } from "./imports.ts";
import { money } from "./money.ts";
import { consoleCalls, env, loading, pure, sql } from "./outside.ts";
import { transactions } from "./transactions.ts";
import { words } from "./words.ts";

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    barrel,
    classes,
    console: consoleCalls,
    declarations,
    "default-export": defaultExport,
    enums,
    env,
    "file-name": fileName,
    imports,
    loading,
    money,
    packages,
    pure,
    size,
    sql,
    todo,
    transactions,
    words,
  },
};

export default plugin;
