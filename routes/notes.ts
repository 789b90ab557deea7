/** Routes of notes. @module */
import { z } from "zod";
import { addNote, listNotes, NewNote, NoteList, NoteView } from "../domain/notes.ts";
import { markProfile } from "../domain/people/erasure.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const shared = { path: "/v1/notes", tag: "Notes", access: "user" } as const;

/** The routes of notes. */
export const noteRoutes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "POST",
    summary: "Add a note about an entity",
    description:
      "For users with role manage or admin and scope realm, who alone see notes. A note is never changed or " +
      "deleted; forgetting a person erases the texts of the notes about it.",
    body: NewNote,
    status: 201,
    answer: NoteView,
    errors: ["permission.role", "permission.scope", "transaction.archived"],
    handle: (call) =>
      command(call, async (tx) => {
        const { view, profile } = await addNote(tx, call.actor, call.body);
        if (profile !== null && call.idempotency !== null) {
          await markProfile(tx, call.idempotency.key, profile); // the answer shows what is erased with it
        }
        return view;
      }),
  }),
  route({
    ...shared,
    method: "GET",
    summary: "List the notes about an entity",
    description: "For users with role manage or admin and scope realm. The latest first.",
    query: NoteList,
    status: 200,
    answer: z.array(NoteView),
    continues: { cursor: "id", usual: 50 },
    errors: ["permission.role", "permission.scope"],
    handle: (call) => query(call, (db) => listNotes(db, call.actor, call.query)),
  }),
];
