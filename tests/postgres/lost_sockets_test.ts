/** Sockets that cannot be made or are lost: told as such at once, and as done or not done where that is known. */
import { deepEqual, equal, ok } from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { connect } from "../../db/connections.ts";
import { openDatabase, type Pool } from "../../db/database.ts";
import { isDisconnect, mayBeDone } from "../../db/errors.ts";
import { reading, serializable, writing } from "../../db/transaction.ts";
import { failureOf } from "../../domain/failures.ts";
import { makeCertificates } from "../support/certificates.ts";
import { superuserUrl, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { openProxy } from "../support/held_queues.ts";
import { openWay, whenFailed } from "../support/reset_sockets.ts";

async function withPool(url: string, work: (pool: Pool) => Promise<void>): Promise<void> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse, platformMax: 1 });
  try {
    await work(database.platform);
  } finally {
    await database.close();
  }
}

const ASKS: Record<string, (pool: Pool) => Promise<unknown>> = {
  "a statement": (pool) => reading(pool, (db) => db`select 1 as one`),
  "a transaction": (pool) => serializable(pool, (tx) => tx`select 1 as one`),
};

const failureIn = (asked: Promise<unknown>) =>
  asked.then(() => null, (error: unknown) => error as Error & { code?: string });

/** Errors as the system and the driver give them, and whether what was asked may have been done. */
const ERRORS: [error: object, mayBeDone: boolean][] = [
  ...["ENETUNREACH", "EHOSTUNREACH", "EACCES", "EINVAL", "EADDRNOTAVAIL", "ETIMEDOUT", "EMFILE"]
    .map((code): [object, boolean] => [{ code, syscall: "connect" }, false]),
  ...["EAI_AGAIN", "ENOTFOUND"]
    .map((code): [object, boolean] => [{ code, syscall: "getaddrinfo" }, false]),
  ...["ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETDOWN", "ECONNABORTED"]
    .map((code): [object, boolean] => [{ code, syscall: "read" }, true]),
  [{ code: "EPIPE", syscall: "write" }, true],
  [{ code: "ENOTCONN", syscall: "shutdown" }, true],
  ...["EPIPE", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END", "ERR_SOCKET_CLOSED"]
    .concat(["ERR_SSL_WRONG_VERSION_NUMBER", "CONNECTION_CLOSED", "57P01", "08006"])
    .map((code): [object, boolean] => [{ code }, true]),
];

Deno.test("a socket that cannot be made, or is lost, is a service that is busy, and what was sent may be done", () => {
  for (const [props, isUnknown] of ERRORS) {
    const error = Object.assign(new Error("a socket failed"), props);
    const told = [isDisconnect(error), mayBeDone(error), failureOf(error)?.code];
    deepEqual(told, [true, isUnknown, "service.overloaded"], JSON.stringify(props));
  }
  const ofFile = Object.assign(new Error("no file"), { code: "ENOENT", syscall: "open" });
  deepEqual([isDisconnect(ofFile), failureOf(ofFile)], [false, null]);
});

/** Asks an address that no packet leaves for: the system refuses it. */
const UNREACHABLE = `
  import { openDatabase } from "./db/database.ts";
  import { mayBeDone } from "./db/errors.ts";
  import { reading } from "./db/transaction.ts";
  import { failureOf } from "./domain/failures.ts";
  const url = "postgres://nobody@255.255.255.255:5432/nothing";
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const error = await reading(database.platform, (db) => db\`select 1\`).catch((error) => error);
  console.log(JSON.stringify([error.syscall, failureOf(error)?.code, mayBeDone(error)]));
  await database.close();`;

Deno.test("an address that the network does not lead to is a service that is busy", async () => {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--config", "tests/deno.json", "--no-check", UNREACHABLE],
    cwd: new URL("../..", import.meta.url),
  }).output();
  const text = new TextDecoder().decode(stdout);
  ok(text !== "", new TextDecoder().decode(stderr));
  deepEqual(JSON.parse(text), ["connect", "service.overloaded", false]);
});

/** A server that offers TLS as PostgreSQL does, with a certificate of an authority that nobody knows. */
async function untrusted(): Promise<AsyncDisposable & { url: string }> {
  const { right } = makeCertificates();
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      new tls.TLSSocket(socket, { ...right, isServer: true }).on("error", () => {});
    });
  });
  return await listening(server, "postgres://nobody@localhost/nothing?sslmode=verify-full");
}

async function listening(
  server: net.Server,
  address: string,
): Promise<AsyncDisposable & { url: string }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(address);
  url.port = `${(server.address() as net.AddressInfo).port}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

for (const [what, ask] of Object.entries(ASKS)) {
  Deno.test(`a server whose certificate is not to be trusted is a service that is busy, and nothing was done: ${what}`, async () => {
    await using server = await untrusted();
    await withPool(server.url, async (pool) => {
      const error = await failureIn(ask(pool));
      const told = [failureOf(error)?.code, mayBeDone(error)];
      deepEqual(told, ["service.overloaded", false], `${error?.code}`);
    });
  });

  Deno.test(`what comes between the failure of an unused connection and its end is told at once: ${what}`, async () => {
    await using way = await openWay(superuserUrl());
    await withPool(way.url, async (pool) => {
      await ask(pool);
      const asked = whenFailed(() => ask(pool));
      way.reset();
      const error = await failureIn(asked);
      equal(error?.code, "CONNECTION_CLOSED", `${error}`);
      await ask(pool);
    });
  });
}

Deno.test("a server whose certificate is not to be trusted was sent no batch of a posting queue", async () => {
  await using server = await untrusted();
  const session = { searchPath: "public", role: null, location: null, name: "posting" };
  const sql = connect({ prepare: true, parseJson: JSON.parse }, server.url, session, 1, null);
  const errors = await Promise.all([sql`select 1`, sql`select 1`].map(failureIn));
  await sql.end({ timeout: 0 });
  deepEqual(errors.map((error) => [isDisconnect(error), mayBeDone(error)])[0], [true, false]);
});

Deno.test("a transaction whose connection is lost before it begins was not done; at its commit it may be", async () => {
  await using own = await testDatabase();
  const proxy = openProxy(new URL(own.url));
  try {
    await withPool(proxy.url, async (pool) => {
      await writing(pool, (db) => db`create table public.written (n integer)`);
      /** Cuts the connection when the next statement has left, whose answer does not arrive. */
      const cutNext = async () => {
        const sent = proxy.sent();
        proxy.mute();
        await until(() => proxy.sent() > sent);
        proxy.cut();
      };
      const write = (atCommit: boolean) =>
        failureIn(serializable(pool, async (tx) => {
          await tx`insert into public.written values (1)`;
          if (atCommit) cut = cutNext();
        }));
      let cut = cutNext();
      const before = await write(false);
      await cut;
      deepEqual([isDisconnect(before), mayBeDone(before)], [true, false], `${before}`);
      const after = await write(true);
      await cut;
      deepEqual([isDisconnect(after), mayBeDone(after)], [true, true], `${after}`);
    });
  } finally {
    await proxy.close();
  }
});

Deno.test("callers who wait for a server that does not answer are told together", async () => {
  const clients: net.Socket[] = [];
  const silent = net.createServer((client) => clients.push(client.on("error", () => {})));
  await using server = await listening(silent, "postgres://nobody@127.0.0.1/nothing");
  await withPool(server.url, async (pool) => {
    const asked = [...Object.values(ASKS), ...Object.values(ASKS)];
    const errors = await Promise.all(asked.map((ask) => failureIn(ask(pool))));
    const told = errors.map((error) => [error?.code, mayBeDone(error)]);
    deepEqual(told, asked.map(() => ["CONNECT_TIMEOUT", false]));
    equal(clients.length, 1);
  });
  for (const client of clients) client.destroy();
});
