/** Headers of answers, handed to the runtime as a list. @module */
import { deepEqual, equal, throws } from "node:assert/strict";
import { headersFrom, listOf } from "../../routes/http/header_lists.ts";

const RECORD = { "cache-control": "no-store", "content-type": "application/json", "x-a": "a, b" };

Deno.test("headers given as a list are those of the record, and the runtime takes the list as it is", async () => {
  const given = headersFrom(listOf(RECORD), listOf({ "x-request-id": "1" }));
  equal(given instanceof Headers, true);
  const response = new Response("body", { status: 201, headers: given });
  deepEqual([...response.headers], Object.entries({ ...RECORD, "x-request-id": "1" }).sort());
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("body", { status: 201, headers: headersFrom(listOf(RECORD)) }),
  );
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}`);
  equal(await answer.text(), "body");
  for (const [name, value] of Object.entries(RECORD)) equal(answer.headers.get(name), value);
});

Deno.test("a list takes no value that would begin another header", () => {
  for (const value of ["a\r\nx-b: b", "a\nb", "a\0", "\u00e9", "\u20ac"]) {
    throws(() => listOf({ "x-a": value }), TypeError);
  }
});
