/** The requests of the guide, run as they stand, and compared with the answers beside them. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { TestRealm } from "./realm.ts";

/** A request of the guide, and the answer that stands below it. */
export interface GuideExample {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  status: number;
  answer: string;
}

/** The requests of a page whose answers stand below them, in their order. */
export async function examplesOf(page: string): Promise<GuideExample[]> {
  const text = await Deno.readTextFile(new URL(`../../${page}`, import.meta.url));
  const blocks = text.matchAll(/```http\n(.*?)```\s*```json (\d{3})\n(.*?)```/gs);
  return [...blocks].map(([, request, status, answer]) => {
    const [head, ...rest] = request.split("\n\n");
    const [line, ...headers] = head.trim().split("\n");
    const [method, path] = line.split(" ");
    return {
      method,
      path,
      headers: Object.fromEntries(headers.map((header) => header.split(": "))),
      body: rest.join("\n\n"),
      status: Number(status),
      answer,
    };
  });
}

/** Sends a request of the guide; `<name>` stands for an id that an earlier answer showed. */
export async function runExample(
  realm: TestRealm,
  names: Map<string, string>,
  page: string,
  { method, path, headers, body, status, answer }: GuideExample,
): Promise<void> {
  const filled = (text: string) =>
    text.replaceAll(/<(\w+)>/g, (all, name) => names.get(name) ?? all);
  const sent = body.trim() === "" ? undefined : filled(body);
  const given = await realm.admin.send(method, filled(path), sent, headers);
  equal(given.status, status, `${page}: ${method} ${path}: ${given.text}`);
  await realm.drain();
  assertShown(JSON.parse(answer), given.body, names, `${page}: ${method} ${path}`);
}

/** Compares what is shown with what came: members that are not shown, and `…`, may be anything. */
function assertShown(shown: unknown, given: unknown, names: Map<string, string>, at: string): void {
  const name = typeof shown === "string" ? /^<(\w+)>$/.exec(shown)?.[1] : undefined;
  if (shown === "…") return;
  if (name !== undefined && typeof given === "string" && !names.has(name)) names.set(name, given);
  if (name !== undefined) return equal(given, names.get(name), at);
  if (Array.isArray(shown) && Array.isArray(given)) {
    const end = shown.indexOf("…");
    if (end < 0) equal(given.length, shown.length, at);
    shown.slice(0, end < 0 ? undefined : end).forEach((one, i) =>
      assertShown(one, given[i], names, `${at}/${i}`)
    );
    return;
  }
  if (typeof shown !== "object" || shown === null) return deepEqual(given, shown, at);
  ok(typeof given === "object" && given !== null && !Array.isArray(given), at);
  for (const [member, value] of Object.entries(shown)) {
    assertShown(value, (given as Record<string, unknown>)[member], names, `${at}/${member}`);
  }
}
