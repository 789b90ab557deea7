/** Requests of a fuzz run: an operation with values for all that it takes. @module */
import type { Operation } from "./document.ts";
import { make, type Maker, pickKnown } from "./values.ts";

/** A request, ready to be sent. */
export interface Request {
  method: string;
  /** With its query. */
  path: string;
  body: string | undefined;
  headers: Record<string, string>;
  /** Whether `fields` cuts the answer down. */
  reduced: boolean;
}

/** Nouns of path parameters, by the part of the path before. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  "apps/deposit": "applications",
  "fungible/token": "tokens",
  "docs/assets": "files",
  "{id}/keys": "application keys",
};

/** Composes a request of an operation. */
export function compose(maker: Maker, operation: Operation): Request {
  const { random, mood } = maker;
  const path = pathOf(maker, operation);
  const query: string[] = [];
  const headers: Record<string, string> = {};
  let reduced = false;
  const asked = operation.parameters.filter((one) => one.in === "query");
  for (const parameter of asked) {
    const share = parameter.required ? 0.95 : asked.length > 4 ? 0.2 : 0.4;
    if (!random.chance(share)) continue;
    const value = make(maker, parameter.schema, parameter.name);
    reduced ||= parameter.name === "fields";
    const merged = Array.isArray(value) && value.every((item) => typeof item === "string") &&
        random.chance(0.5)
      ? value.join()
      : value;
    for (const item of Array.isArray(merged) ? merged : [merged]) {
      query.push(`${encodeURIComponent(parameter.name)}=${encode(item)}`);
    }
  }
  if (mood === "nasty" && random.chance(0.1)) query.push("zzz=1");
  for (const { name, schema } of operation.parameters.filter((one) => one.in === "header")) {
    if (name === "prefer" || !random.chance(0.1)) continue;
    const value = mood === "valid" ? `k${random.below(50)}` : `${make(maker, schema, name)}`;
    if (/^[\x20-\x7e]*$/.test(value)) headers[name] = value.slice(0, 300);
  }
  // A token's answer waits 10 s for a worker unless told otherwise.
  if (operation.path.startsWith("/v1/fungible/token/")) headers.prefer = "wait=1";
  if (mood === "nasty" && random.chance(0.1)) {
    headers.accept = random.pick(["text/html", "*/*", "application/json;q=0", "text/csv", ""]);
  }
  const pages = operation.responses["200"] ?? operation.responses["302"];
  if (pages?.content?.["text/html"] !== undefined && random.chance(0.5)) {
    headers.accept = "text/html";
  }
  const body = bodyOf(maker, operation, headers);
  const tail = query.length === 0 ? "" : `?${query.join("&")}`;
  return { method: operation.method, path: path + tail, body, headers, reduced };
}

function pathOf(maker: Maker, operation: Operation): string {
  const { random, known, mood } = maker;
  const template = operation.path.split("/");
  const parts = [...template];
  const pair = random.pick(known.get("blocks") ?? [""]).split("/");
  for (const [i, part] of parts.entries()) {
    if (!part.startsWith("{")) continue;
    const name = part.slice(1, -1);
    const noun = COLLECTIONS[`${template[i - 2]}/${template[i - 1]}`] ?? template[i - 1];
    const schema = operation.parameters.find((one) =>
      one.in === "path" && one.name === name
    )!.schema;
    const list = known.get(noun) ?? [];
    let value = list.length > 0 && random.chance(mood === "nasty" ? 0.6 : 0.92)
      ? pickKnown(random, list)
      : make(maker, schema, name);
    if (operation.path.includes("{block}") && random.chance(0.8)) {value =
        pair[name === "block" ? 1 : 0];}
    parts[i] = encode(value) || "x";
  }
  return parts.join("/");
}

function bodyOf(
  maker: Maker,
  operation: Operation,
  headers: Record<string, string>,
): string | undefined {
  const { random, mood } = maker;
  if (operation.body === null || operation.method === "GET") return undefined;
  if (!operation.bodyRequired && random.chance(0.1)) return undefined;
  headers["content-type"] = mood === "nasty" && random.chance(0.05)
    ? random.pick(["text/plain", "application/json; charset=latin1", "application/xml"])
    : "application/json";
  if (mood === "nasty" && random.chance(0.06)) {
    const deep = `{"a":${"[".repeat(80)}${"]".repeat(80)}}`;
    return random.pick(["", "{", "[]", "null", '{"a":1}}', "\0", deep, '"x"', "1e5", "[1,2]"]);
  }
  const text = JSON.stringify(make(maker, operation.body, ""));
  // Amounts as numbers whose digits no double holds, as other clients write them.
  return random.chance(0.05) ? text.replace(/"(\d+(?:\.\d+)?)"/, "$1") : text;
}

/** A value as a part of a URL. */
function encode(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return encodeURIComponent(text.toWellFormed().slice(0, 2000)).replaceAll(/^\.+$/g, "x");
}
