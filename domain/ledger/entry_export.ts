/** The export of the entries of an account as CSV. @module */
import type { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectEntries } from "../../db/ledger/entries.ts";
import { findAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { assertRange, ExportFields } from "../collections/exports.ts";
import { invalidQuery } from "../collections/filter.ts";
import { assertWhole, csvOf, EntryList, rangeOf } from "./entries.ts";

const SLICE = 500;

/** Which entries are listed or exported. */
export const EntryExport: z.ZodObject<
  typeof EntryList.shape & Pick<typeof ExportFields, "format">,
  z.core.$strict
> = EntryList.extend({ format: ExportFields.format });

/** An export of entries whose extent is fixed: their numbers, both included. */
export interface EntryExportPlan {
  /** The account. */
  entity: string;
  first: bigint;
  last: bigint;
}

/**
 * Fixes the extent of an export of entries.
 *
 * @throws {DomainError} account.not_found, query.invalid, time.archived
 */
export async function openEntryExport(
  db: Db,
  actor: Actor,
  input: z.infer<typeof EntryList> & { account: string },
): Promise<EntryExportPlan> {
  assertRange(input);
  for (const name of ["page", "pageSize"] as const) {
    if (input[name] !== undefined) throw invalidQuery(`/${name}`, "CSV does not take this");
  }
  if (input.sort.startsWith("-")) throw invalidQuery("/sort", "CSV has the oldest first");
  const { low, high } = await rangeOf(db, actor, input);
  const after = BigInt(input.after ?? 0);
  return { entity: input.account, first: (after > low ? after : low) + 1n, last: high };
}

/**
 * Reads and writes the entries from a number on, with the actor's present rights.
 *
 * @throws {DomainError} account.not_found, time.archived where some were archived meanwhile
 */
export async function entrySlice(
  db: Db,
  actor: Actor,
  { entity, last }: EntryExportPlan,
  first: bigint,
): Promise<{ lines: string; next: bigint }> {
  const account = await findAccount(db, actor, entity);
  const part = { first, last, descending: false, limit: SLICE };
  const rows = await selectEntries(db, account.id, part);
  assertWhole(rows, part);
  const next = rows.length < SLICE ? last + 1n : BigInt(rows.at(-1)!.seq) + 1n;
  return { lines: rows.map(csvOf).join(""), next };
}
