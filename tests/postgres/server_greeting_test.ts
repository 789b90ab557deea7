/** Servers at the database's address that are none. @module */
import { equal, match } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { isOnThisMachine, openGreeting } from "../../db/server_greeting.ts";

const text = (said: string) => new TextEncoder().encode(said);

/** A message of the server's protocol. */
function message(kind: string, body: Uint8Array, length = 4 + body.length): Uint8Array {
  const bytes = new Uint8Array(5 + body.length);
  bytes.set(text(kind));
  new DataView(bytes.buffer).setUint32(1, length);
  bytes.set(body, 5);
  return bytes;
}

/** A demand of authentication. */
function demand(method: number, said = ""): Uint8Array {
  return message("R", Uint8Array.of(0, 0, 0, method, ...text(said)));
}

const SCRAM = demand(10, "SCRAM-SHA-256\0\0");
const rounds = (count: string) => demand(11, `r=abc,s=c2FsdA==,i=${count}`);
const ROW = message("T", Uint8Array.of(0, 1, ...text("no end")));

const NO_TLS = text("N");

/** What each hostile server says after the start of a connection, answer by answer. */
const HOSTILE: Record<string, Uint8Array[]> = {
  "asks for two thousand million rounds of SCRAM": [SCRAM, rounds("2147483647")],
  "asks for as many in hexadecimal": [SCRAM, rounds("0x7fffffff")],
  "refuses TLS first, and asks for as many": [NO_TLS, SCRAM, rounds("2147483647")],
  "asks for few rounds first": [SCRAM, rounds("4096,i=2147483647")],
  "describes rows before the login, without an end of their names": [ROW],
  "begins a message of two gigabytes": [message("R", new Uint8Array(0), 0x7fff_ffff)],
};

for (const [what, answers] of Object.entries(HOSTILE)) {
  Deno.test(`a server is left before it has let anybody in where it ${what}`, async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const database = openDatabase({
      url: `postgres://purser:a%20secret@127.0.0.1:${listener.addr.port}/purser?sslmode=${
        answers[0] === NO_TLS ? "prefer" : "disable"
      }`,
      prepare: true,
      parseJson: JSON.parse,
    });
    const serving = (async () => {
      for await (const connection of listener) {
        const bytes = new Uint8Array(1000);
        try {
          for (const answer of answers) {
            await connection.read(bytes);
            await connection.write(answer);
          }
          while (await connection.read(bytes) !== null); // until it is left
        } catch {
          // it was left with a reset
        }
        connection.close();
      }
    })().catch(() => {});
    const failed = await Promise.resolve(database.platform.sql`select 1`).catch(String);
    match(String(failed), /database's server is none|closed before it had begun/);
    await database.platform.sql.end({ timeout: 0 });
    await new Promise((turn) => setTimeout(turn)); // the driver's starts are counted until the turn ends
    listener.close();
    await serving;
    await new Promise((resolve) => setTimeout(resolve)); // behind the timers of the connection's starts
  });
}

Deno.test("a greeting is read however it is cut into pieces, and up to the login alone", () => {
  const good = [SCRAM, rounds("4096"), demand(12, "v=c2ln"), demand(0), ROW];
  const whole = Uint8Array.from(good.flatMap((part) => [...part]));
  for (const size of [1, 2, 5, 7, 64, whole.length]) {
    const greeting = openGreeting(true);
    for (let at = 0; at < whole.length && !greeting.over; at += size) {
      equal(greeting.read(whole.subarray(at, at + size)), null, `${size}`);
    }
    equal(greeting.over, true);
  }
  const bad = Uint8Array.from([...SCRAM, ...rounds("1000001")]);
  for (const size of [1, 3, bad.length]) {
    const greeting = openGreeting(true);
    const faults: string[] = [];
    for (let at = 0; at < bad.length && faults.length === 0; at += size) {
      const fault = greeting.read(bad.subarray(at, at + size));
      if (fault !== null) faults.push(fault);
    }
    match(faults[0], /1000001 rounds/);
  }
  equal(openGreeting(true).read(rounds("1000000")), null);
});

Deno.test("a server on another machine that lets in without a proof that it knows the password is left", () => {
  match(`${openGreeting(true).read(demand(0))}`, /without a proof/);
  match(`${openGreeting(true).read(Uint8Array.from([...SCRAM, ...demand(0)]))}`, /without a proof/);
  equal(openGreeting(false).read(demand(0)), null);
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"]) {
    equal(isOnThisMachine(`postgres://a:b@${host}:5432/x?sslmode=disable`), true, host);
  }
  for (const host of ["db.example", "10.0.0.1", "[2001:db8::1]", "localhost.example"]) {
    equal(isOnThisMachine(`postgres://a:b@${host}:5432/x?sslmode=disable`), false, host);
  }
});
