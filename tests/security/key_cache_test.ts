import { equal, ok } from "node:assert/strict";
import { type Send, testRealm } from "../support/realm.ts";

Deno.test("a request with a key that was seen before costs no SQL of its own", async () => {
  await using realm = await testRealm();
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  // Refused for its query after the key was checked, so whatever runs is the key's.
  const ask = async (send: Send) => {
    const { status } = await send("GET", "/v1/auth/me?x=1");
    equal(status, 400);
  };
  const send = process.send(realm.admin.key);
  await ask(send);
  ok(statements.length > 0, "the first one does ask the database");
  statements.length = 0;
  const start = Date.now();
  const requests = 500;
  for (let i = 0; i < requests; i++) await ask(send);
  // By the clock, not by the request: each half second a read of the realm and its revocations, of five
  // statements, and now and then one that notes when the login was used.
  const most = 6 * (Math.ceil((Date.now() - start) / 500) + 1);
  ok(statements.length <= most, `${statements.length} for ${requests}: ${statements.join("; ")}`);
  ok(most < requests / 2, "the machine is too slow to tell");
});

Deno.test("keys with made-up ids cost a query at a time, however many come at once", async () => {
  await using realm = await testRealm();
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const [, payload, signature] = realm.admin.key.split(".");
  const forged = Array.from({ length: 200 }, () => {
    const kid = crypto.randomUUID();
    return `${
      btoa(JSON.stringify({ alg: "EdDSA", kid })).replaceAll("=", "")
    }.${payload}.${signature}`;
  });
  const answers = await Promise.all(
    forged.map((key) => process.send(key)("GET", "/v1/auth/me")),
  );
  equal(answers.every((answer) => answer.status === 401), true);
  ok(statements.length < 20, `${statements.length}`);
});
