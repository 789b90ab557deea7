/**
 * Compares the events of a realm, as they are sent to receivers, with what the OpenAPI document says
 * of them under `webhooks`.
 *
 * @module
 */
import type { Pool } from "../../db/database.ts";
import { bodyOf } from "../../domain/webhooks/messages.ts";
import { describe } from "../../routes/http/openapi.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { type Json, judgeOf } from "../fuzz/document.ts";

interface Told {
  type: string;
  payload: string;
  owner: string | null;
  others: string[] | null;
  created_at: number;
}

/** Events of a realm that are compared. */
const COMPARED_MAX = 500;

let known: { document: Json; judge: ReturnType<typeof judgeOf> } | null = null;

function judged() {
  if (known !== null) return known;
  const document = closed(describe(allRoutes()));
  return known = { document, judge: judgeOf(document) };
}

/** Forbids what is not described: the document itself leaves objects open for later versions. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(
    Object.entries(schema).map(([name, one]) => [name, closed(one)]),
  );
  const isOpen = schema.type === "object" && schema.properties !== undefined &&
    schema.additionalProperties === undefined;
  return isOpen ? { ...parts, additionalProperties: false } : parts;
}

/** The faults of what a receiver would be sent of the realm's events, one of each kind. */
export async function faultsOfEvents(pool: Pool): Promise<string[]> {
  const rows = await pool.sql<Told[]>`
    select type, payload::text as payload, owner, others, created_at from events
    order by position desc limit ${COMPARED_MAX}`;
  const faults = new Set<string>();
  for (const row of rows) {
    const users = new Set([row.owner ?? "", ...row.others ?? []]);
    const readers = [
      { user: "", seesAll: true, isAdmin: true },
      { user: "", seesAll: true, isAdmin: false },
      ...[...users].map((user) => ({ user, seesAll: false, isAdmin: false })),
    ];
    for (const reader of readers) {
      const fault = faultOf(row.type, JSON.parse(bodyOf({ ...row, at: row.created_at }, reader)));
      if (fault !== null) faults.add(`${row.type}: ${fault}`);
    }
  }
  return [...faults];
}

/** What the document does not permit about a body; null: nothing. */
export function faultOf(type: string, body: Json): string | null {
  const { document, judge } = judged();
  const described = document.webhooks[type];
  if (described === undefined) return "it is not in the document";
  const { schema } = described.post.requestBody.content["application/json"];
  // The choice of whole or id alone would hide what is wrong with the whole.
  const { data } = schema.properties;
  const [whole, thin] = data.anyOf;
  const chosen = Object.keys(body.data).join() === "id" ? thin : whole;
  const narrow = { ...schema, properties: { ...schema.properties, data: chosen } };
  return judge.answer(narrow, body, false);
}
