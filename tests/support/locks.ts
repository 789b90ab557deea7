/** What sessions hold and wait for, as tests look at it. @module */

/**
 * In SQL, the locks of this database. Databases of a run are copies of one: their tables have the same numbers, under
 * which the server lists the locks of other groups too.
 */
export const LOCKS_HERE =
  "(select * from pg_locks where database = (select oid from pg_database where datname = current_database()))";
