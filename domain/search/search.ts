/**
 * Search of the realm by one text: ids, names from their beginning, and exact keys. Every answer is
 * within the caller's reach, and found by an index.
 * @module
 */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import {
  FOUND_KINDS,
  FOUND_MATCHES,
  type FoundRow,
  type SearchReach,
  selectByAddress,
  selectByContact,
  selectByHash,
  selectById,
  selectByPrefix,
  selectByText,
} from "../../db/search/search.ts";
import { type Actor, reachesRealm, roleOf } from "../actor.ts";
import { addressForms, hashForms } from "../chains/text_forms.ts";
import { checkText } from "../collections/filter.ts";
import { isId } from "../ids.ts";
import { normalContact } from "../people/person_fields.ts";
import { findProfileCipher } from "../people/profile_cipher.ts";
import { rightsOf } from "../permissions.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/** Parameters of a search. */
export const SearchQuery = z.strictObject({
  q: z.string().trim().min(1).max(200).meta({
    description:
      "What is searched: an id, the beginning of a user's, an identity's or an alias's " +
      "name, or the whole of an e-mail address, a telephone number, an account's reference, an " +
      "address or a transaction's hash. No character stands for others.",
    example: "alice",
  }),
  limit: z.coerce.number().int().min(1).max(20).default(8),
});
/** Parameters of a search. */
export type SearchQuery = z.infer<typeof SearchQuery>;

/** An entity that was found, as shown. */
export const FoundView = z.object({
  kind: z.enum(FOUND_KINDS),
  id: z.string(),
  title: z.string().meta({ description: "Its name, its reference or its amount." }),
  subtitle: z.string(),
  match: z.enum(FOUND_MATCHES).meta({ description: "What of it equals or begins with the text." }),
}).meta({ id: "Found" });

/** Searches contact data, which are encrypted; null where the realm's own tables have none. */
export type ContactSearch = { secrets: Secrets } | null;

/** Searches the realm, within the actor's reach. */
export async function searchRealm(
  db: Db,
  actor: Actor,
  input: SearchQuery,
  contacts: ContactSearch,
): Promise<z.infer<typeof FoundView>[]> {
  const text = checkText(input.q, "/q").normalize("NFC");
  const { limit } = input;
  const all = rightsOf(actor).read === "all";
  const reach: SearchReach = {
    owner: all ? null : actor.user,
    user: actor.user,
    unmatched: roleOf(actor) === "admin" && reachesRealm(actor),
    limit,
  };
  const exact: FoundRow[] = [];
  if (isId(text.toLowerCase())) exact.push(...await selectById(db, reach, text.toLowerCase()));
  const hashes = hashForms(text);
  if (hashes.length > 0) exact.push(...await selectByHash(db, reach, hashes));
  const addresses = await addressForms(text);
  if (addresses.length > 0) exact.push(...await selectByAddress(db, reach, addresses));
  exact.push(...await selectByText(db, reach, text));
  exact.push(...await findContacts(db, actor, reach, text, contacts));
  const named = await selectByPrefix(db, reach, text);
  return firstOf([exact, ...byKind(named)], limit);
}

/** An e-mail address, or a telephone number with its country. */
const EMAIL = /^[^@\s]+@[^@\s]+$/;
const PHONE = /^\+?\d{6,20}$/;

async function findContacts(
  db: Db,
  actor: Actor,
  reach: SearchReach,
  text: string,
  contacts: ContactSearch,
): Promise<FoundRow[]> {
  const channel = EMAIL.test(text) ? "email" : PHONE.test(text) ? "phone" : null;
  if (channel === null || contacts === null) return [];
  const cipher = await findProfileCipher(db, contacts.secrets, actor.realm.id);
  if (cipher === null) return [];
  const digest = cipher.digest(channel, normalContact(channel, text));
  return await selectByContact(db, reach, [{ channel, digest }]);
}

function byKind(rows: readonly FoundRow[]): FoundRow[][] {
  return [...Map.groupBy(rows, (row) => row.kind).values()];
}

/** Takes from the lists by turns, each entity once: no kind crowds out another. */
function firstOf(lists: readonly FoundRow[][], limit: number): FoundRow[] {
  const found = new Map<string, FoundRow>();
  const [exact, ...others] = lists;
  const longest = Math.max(0, ...others.map((list) => list.length));
  const turns = Array.from(
    { length: longest },
    (_, turn) => others.flatMap((list) => list[turn] ?? []),
  );
  for (const row of [...exact, ...turns.flat()]) {
    const key = `${row.kind} ${row.id}`;
    if (found.size < limit && !found.has(key)) found.set(key, row);
  }
  return [...found.values()];
}
