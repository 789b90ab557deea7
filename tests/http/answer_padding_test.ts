/** Answers in one packet. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { openPadding } from "../../routes/http/answer_padding.ts";
import {} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { startService } from "../support/started_service.ts";

const test = sharing("padded answers in one realm");

/** Asks for an answer on a connection, and gives its head and in how many pieces it came. */
async function ask(
  connection: Deno.Conn,
  path: string,
  key: string,
): Promise<{ head: string; pieces: number; size: number }> {
  const lines = [`GET ${path} HTTP/1.1`, "host: a", `x-api-key: ${key}`];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const bytes = new Uint8Array(65_536);
  let text = "";
  for (let pieces = 1;; pieces++) {
    const count = await connection.read(bytes);
    if (count === null) throw new Error("the connection ended");
    text += new TextDecoder().decode(bytes.subarray(0, count));
    const [head, body] = text.split("\r\n\r\n");
    const length = /^content-length: (\d+)/m.exec(head)?.[1];
    if (body !== undefined && body.length === Number(length)) {
      return { head, pieces, size: text.length };
    }
  }
}

test("the second answer of a connection is padded, and those after it come in one piece", async (realm) => {
  for (let i = 0; i < 2; i++) await realm.currency("5");
  await using service = await startService("");
  const { hostname, port } = new URL(service.url);
  for (let connections = 0; connections < 2; connections++) {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    for (let i = 0; i < 300; i++) {
      answers.push(await ask(connection, "/v1/accounts/all?scope=all", realm.admin.key));
    }
    const padded = answers.map(({ head }, i) => head.includes("x-padding") ? i : -1);
    deepEqual(padded.filter((i) => i >= 0), [1]);
    equal(answers[1].head.length > 2048 && answers[1].head.length < 4096, true);
    equal(answers[2].size > 1024, true); // more than the buffer has room for
    deepEqual(answers.slice(2).filter(({ pieces }) => pieces > 1), []);
  }
});

Deno.test("a connection is taken for a new one after 65 536 requests; a port that is none is not padded", () => {
  const { isDue } = openPadding();
  const due = Array.from({ length: 65_536 }, () => isDue(8000));
  deepEqual(due.flatMap((one, i) => one ? i : []), [1]);
  deepEqual([isDue(8000), isDue(8000), isDue(8001), isDue(8001)], [false, true, false, true]);
  deepEqual([isDue(65_536), isDue(65_536)], [false, false]);
});

test("an answer with a long link is padded by less: no head grows beyond what proxies take", async (realm) => {
  await realm.currency("5");
  await realm.currency("5");
  await using service = await startService("");
  const { hostname, port } = new URL(service.url);
  const names = Array.from({ length: 70 }, (_, i) => `"account number ${i}"`);
  const query = encodeURIComponent(`{"reference":{"$nin":[${names}]}}`);
  const path = `/v1/accounts/all?scope=all&limit=1&query=${query}`;
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const [plain, padded] = [
    await ask(connection, path, realm.admin.key),
    await ask(connection, path, realm.admin.key),
  ];
  equal(/^link: /m.test(plain.head), true, plain.head);
  ok(plain.head.length > 2048 && plain.head.length < 4096, `${plain.head.length}`);
  ok(padded.head.length < 4096, `${padded.head.length}`);
});

Deno.test("headers of any length that are padded have one length; longer ones stay", async () => {
  const { add } = openPadding();
  const lengths = [];
  for (const length of [1, 500, 2000, 3000]) {
    const { headers } = await add(new Response(null, { headers: { link: "x".repeat(length) } }));
    lengths.push(
      [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0),
    );
  }
  deepEqual(lengths, [2560, 2560, 2560, 3008]);
});
