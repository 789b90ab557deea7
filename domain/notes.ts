/**
 * Notes of those who work for the realm about an entity: why an account was frozen, what a customer said. They are
 * added and never changed; customers do not see them. Forgetting a person erases their texts.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../db/database.ts";
import {
  insertNote,
  NOTED_COLLECTIONS,
  type NoteRow,
  selectNoted,
  selectNotes,
} from "../db/notes.ts";
import { isArchived } from "../db/ledger/archives.ts";
import type { Actor } from "./actor.ts";
import { Id, text } from "./entity.ts";
import { DomainError, invalidField } from "./errors.ts";
import { isId, newId } from "./ids.ts";
import { assertManagesRealm } from "./permissions.ts";

/** The text of a note. */
export const NoteText: z.ZodString = text(2000);

/** The body of a new note. */
export const NewNote = z.strictObject({
  entity: Id.meta({
    description: "The id of an account, identity, user, transaction, deposit or withdrawal.",
  }),
  text: NoteText,
  kind: z.string().regex(/^[a-z][a-z0-9_.-]{0,39}$/, "1 to 40 of a-z 0-9 _ . - are expected")
    .default("note").meta({
      description:
        "A word of the realm's own. A reason given with `freeze`, `unfreeze`, `deactivate` or `activate` is a note of that kind.",
    }),
}).meta({ id: "NewNote" });

/** The query of a list of notes. */
export const NoteList = z.strictObject({
  entity: z.string().max(100).optional().meta({
    description: "The id of an entity; the realm's latest notes unless given.",
  }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().max(100).optional().meta({
    description: "The last note of the page before.",
    format: "uuid",
  }),
});

/** A note as shown. */
export const NoteView = z.object({
  id: z.string(),
  collection: z.enum(NOTED_COLLECTIONS),
  entity: z.string(),
  kind: z.string(),
  text: z.string().nullable().meta({
    description: "Null after the person that it was about was forgotten.",
  }),
  owner: z.string().meta({ description: "The user who wrote it." }),
  created_at: z.number().int(),
  erased_at: z.number().int().optional(),
}).meta({ id: "Note" });

/** A note about an entity that is known to exist. */
export interface Note {
  entity: string;
  kind: string;
  text: string;
}

/**
 * Adds a note about an entity of the realm. `profile` is the person that it is about, or the identity while that has
 * no person: with it the note is erased.
 *
 * @throws {DomainError} permission.role, permission.scope, request.invalid, transaction.archived
 */
export async function addNote(
  tx: Tx,
  actor: Actor,
  note: Note,
): Promise<{ view: z.infer<typeof NoteView>; profile: string | null }> {
  assertManagesRealm(actor);
  const noted = isId(note.entity) ? await selectNoted(tx, note.entity) : null;
  if (noted === null) throw await unknownEntity(tx, note.entity);
  const id = newId(actor.at);
  const row = await insertNote(tx, {
    ...{ id, ...note, ...noted },
    owner: actor.user,
    created_at: actor.at,
  });
  return { view: viewNote(row), profile: noted.person ?? noted.identity };
}

/** The refusal of an entity that is in no table; an archived transaction keeps the notes that it has. */
async function unknownEntity(db: Db, id: string): Promise<DomainError> {
  return isId(id) && await isArchived(db, id)
    ? new DomainError("transaction.archived", "the transaction is archived")
    : invalidField("/entity", "there is no such entity");
}

/**
 * Lists notes, the latest first.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function listNotes(
  db: Db,
  actor: Actor,
  { limit, ...asked }: z.infer<typeof NoteList>,
): Promise<z.infer<typeof NoteView>[]> {
  assertManagesRealm(actor);
  const { entity = null, after = null } = asked;
  if (after !== null && !isId(after)) {
    throw new DomainError("query.invalid", "after: not the id of a note", {
      errors: [{ path: "/after", message: "not the id of a note" }],
    });
  }
  if (entity !== null && !isId(entity)) return [];
  return (await selectNotes(db, { entity, after, limit })).map(viewNote);
}

function viewNote(row: NoteRow): z.infer<typeof NoteView> {
  return {
    id: row.id,
    collection: row.collection,
    entity: row.entity,
    kind: row.kind,
    text: row.text,
    owner: row.owner,
    created_at: row.created_at,
    ...(row.erased_at === null ? {} : { erased_at: row.erased_at }),
  };
}
