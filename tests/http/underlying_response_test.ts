/** Answers, made below the platform's interface. @module */
import { deepEqual, equal, throws } from "node:assert/strict";
import { answerOf, listOf, sharedListOf } from "../../routes/http/underlying_response.ts";

const RECORD = { "cache-control": "no-store", "content-type": "application/json", "x-a": "a, b" };
const OWN = { "x-request-id": "1" };
const ALL = Object.entries({ ...RECORD, ...OWN }).sort();

/** Sends the answer over HTTP. */
async function sent(make: () => Response): Promise<Response> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, make);
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}`);
  const body = await answer.bytes();
  return new Response(body, answer);
}

/** Headers without those that the server adds. */
function given(answer: Response): [string, string][] {
  return [...answer.headers].filter(([name]) => !["content-length", "date", "vary"].includes(name));
}

const BODIES = { text: "the body \u20ac", bytes: new TextEncoder().encode("the body \u20ac") };
for (const [kind, body] of Object.entries(BODIES)) {
  Deno.test(`an answer made of ${kind} is a response like any, before and after it is sent`, async () => {
    const make = () => answerOf(body, 201, listOf(RECORD), listOf(OWN));
    for (const answer of [make(), make().clone(), await sent(make)]) {
      equal(answer instanceof Response, true);
      deepEqual([answer.status, answer.ok, given(answer)], [201, true, ALL]);
      equal(await answer.text(), "the body \u20ac");
    }
    const read = make();
    await read.text();
    equal(read.bodyUsed, true);
  });
}

Deno.test("an answer's headers are changed without those of another that has the same", async () => {
  const shared = sharedListOf(RECORD);
  const changed = answerOf("body", 405, shared);
  changed.headers.append("allow", "GET");
  deepEqual(given(await sent(() => changed)), [["allow", "GET"], ...Object.entries(RECORD)]);
  const other = answerOf("body", 200, shared);
  throws(() => other.headers.set("x-a", "c"), TypeError);
  deepEqual(given(answerOf("body", 200, shared)), Object.entries(RECORD));
});

Deno.test("answers are made below the platform's interface: the runtime keeps the list as it is", () => {
  const answer = answerOf("body", 200, sharedListOf(RECORD));
  const kept = Object.getOwnPropertySymbols(answer)
    .map((symbol): unknown => Reflect.get(answer, symbol))
    .find((part): part is { headerList: unknown[] } =>
      typeof part === "object" && part !== null && "headerList" in part
    );
  equal(kept?.headerList.every((pair) => Object.isFrozen(pair)), true);
});

Deno.test("a list takes no value that would begin another header", () => {
  for (const value of ["a\r\nx-b: b", "a\nb", "a\0", "\u00e9", "\u20ac"]) {
    throws(() => listOf({ "x-a": value }), TypeError);
  }
});
