/** Migrations with some more of realms, as the next version would bring them. @module */
import { type Migration, migrationOf, type Migrations } from "../../db/migrate.ts";

/** The migrations with some more of realms; texts that begin as index steps do are such. */
export function oneMore(migrations: Migrations, ...texts: string[]): Migrations {
  const { length } = migrations.realm;
  const more = texts.map((text, at) => migrationNumbered(length + at + 1, text));
  return { ...migrations, realm: [...migrations.realm, ...more] };
}

/** The migration of a number. */
export function migrationNumbered(number: number, text: string): Migration {
  const end = /^create (unique )?index concurrently/.test(text) ? ".index.sql" : ".sql";
  return migrationOf(`${String(number).padStart(4, "0")}_step${end}`, text);
}
