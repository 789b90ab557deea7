/** Migrations with one more of realms, as the next version would bring it. @module */
import { createHash } from "node:crypto";
import type { Migrations } from "../../db/migrate.ts";

/** The migrations with one more of realms. */
export function oneMore(migrations: Migrations, text: string): Migrations {
  const number = migrations.realm.length + 1;
  const checksum = createHash("sha256").update(text).digest("hex");
  return {
    ...migrations,
    realm: [...migrations.realm, { number, name: `step_${number}`, text, checksum }],
  };
}
