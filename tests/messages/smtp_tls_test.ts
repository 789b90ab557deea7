/** SMTP over TLS, against real servers with certificates of an authority of the tests' own. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { connect, createServer } from "node:net";
import type { SMTPServerOptions } from "smtp-server";
import { newId } from "../../domain/ids.ts";
import type { GatewayError } from "../../workers/gateways/outbound.ts";
import { openSmtp } from "../../workers/gateways/smtp.ts";
import { readConfig } from "../../config.ts";
import { makeCertificates } from "../support/certificates.ts";
import { LATE_TIMERS, type MailServer, startMailServer } from "../support/smtp.ts";
import { EMAIL } from "./fixture.ts";

/** Sends one e-mail to a server; null where it was taken, else the error. */
async function sendTo(
  url: string,
  { ca, deadlineMs }: { ca: string | null; deadlineMs?: number },
): Promise<GatewayError | null> {
  const config = {
    url,
    from: "no-reply@example.com",
    encrypted: true,
    ca,
    dkim: null,
  };
  const gateway = openSmtp(config, deadlineMs);
  const one = {
    id: newId(1),
    realm: newId(1),
    destination: "ada@example.com",
    created_at: 1,
  };
  const due = {
    channel: "email",
    content: EMAIL,
    ...one,
    attempt: 1,
    toPerson: false,
    refusals: 0,
  } as const;
  try {
    await gateway.send(due, new AbortController().signal);
    return null;
  } catch (error) {
    return error as GatewayError;
  } finally {
    gateway.close();
  }
}

/** Starts a server that offers STARTTLS, or speaks TLS from the start, and notes logins. */
async function startTlsServer(
  options: SMTPServerOptions,
  secured: boolean[],
): Promise<MailServer> {
  return await startMailServer({
    disabledCommands: [],
    allowInsecureAuth: false,
    ...options,
    onAuth({ username }, session, done) {
      secured.push(session.secure);
      done(null, { user: username });
    },
  });
}

Deno.test({
  name:
    "an e-mail goes over STARTTLS or TLS to the server whose certificate is right, and to no other",
  ...LATE_TIMERS,
  async fn() {
    const { ca, right, other } = makeCertificates();
    const { smtp } = readConfig({
      SMTP_URL: "smtp://mail.example",
      SMTP_FROM: "no-reply@example.com",
      SMTP_CA: ca.replaceAll("\n", "\\n"),
    }, false);
    deepEqual([smtp!.ca, smtp!.encrypted], [ca, true]);
    for (const secure of [false, true]) {
      const secured: boolean[] = [];
      await using server = await startTlsServer({ ...right, secure }, secured);
      const url = server.url.replace("127.0.0.1", "localhost")
        .replace("smtp:", secure ? "smtps:" : "smtp:");
      equal(await sendTo(url, { ca }), null);
      deepEqual([secured, server.taken.length], [[true], 1]);
      const untrusted = await sendTo(url, { ca: null });
      deepEqual(
        [untrusted?.kind, secured.length],
        ["settings", 1],
        "another authority",
      );
      await using stranger = await startTlsServer(
        { ...other, secure },
        secured,
      );
      const wrong = url.replace(/\d+$/, new URL(stranger.url).port);
      const misnamed = await sendTo(wrong, { ca });
      deepEqual(
        [misnamed?.kind, secured.length],
        ["settings", 1],
        "another name",
      );
      deepEqual([server.taken.length, stranger.taken.length], [1, 0]);
    }
  },
});

/** A server that says what it is told to, and keeps what it is told. */
function startScripted(answer: (line: string) => string | null) {
  const heard: string[] = [];
  const open = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.write("220 mail.test ready\r\n");
    socket.on("data", (chunk) => {
      for (
        const line of chunk.toString().split("\r\n").filter((one: string) => one !== "")
      ) {
        heard.push(line);
        const reply = answer(line);
        if (reply !== null && !socket.destroyed) socket.write(reply);
      }
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  return {
    heard,
    async url() {
      await promise;
      return `smtp://purser:secret@127.0.0.1:${(server.address() as { port: number }).port}`;
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

Deno.test({
  name:
    "a server that offers no STARTTLS, refuses it, or answers it twice gets neither login nor e-mail",
  ...LATE_TIMERS,
  async fn() {
    const hello = "250-mail.test\r\n250 AUTH PLAIN LOGIN\r\n";
    const offer = "250-mail.test\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n";
    const cases: Record<string, (line: string) => string> = {
      "not offered": (line) => line.startsWith("EHLO") ? hello : "502 no\r\n",
      "taken out of the offer, and refused": (line) =>
        line.startsWith("EHLO") ? hello : "454 not now\r\n",
      "offered and refused": (line) => line.startsWith("EHLO") ? offer : "454 not now\r\n",
      "answers put in before encryption": (line) =>
        line.startsWith("EHLO") ? offer : `220 go\r\n250-mail.test\r\n250 AUTH PLAIN\r\n`,
    };
    for (const [name, answer] of Object.entries(cases)) {
      const server = startScripted(answer);
      const error = await sendTo(await server.url(), {
        ca: null,
        deadlineMs: 5_000,
      });
      equal(error?.name, "GatewayError", name);
      const told = server.heard.filter((line) =>
        /^(AUTH|MAIL|RCPT|DATA)|secret|account/.test(line)
      );
      deepEqual(told, [], name);
      ok(server.heard.some((line) => line.startsWith("EHLO")), name);
      server.close();
    }
  },
});

Deno.test({
  name:
    "an SMTP server that hangs or trickles in the middle of an e-mail holds it for the deadline alone",
  ...LATE_TIMERS,
  async fn() {
    const timers: ReturnType<typeof setInterval>[] = [];
    for (const trickles of [false, true]) {
      let inData = false;
      const server = startScripted((line) => {
        if (line.startsWith("EHLO")) return "250 mail.test\r\n";
        if (line === "DATA") {
          inData = true;
          return "354 go\r\n";
        }
        if (line === ".") return null;
        return inData ? null : "250 ok\r\n";
      });
      const url = (await server.url()).replace("purser:secret@", "");
      if (trickles) {
        const { port } = new URL(url);
        const proxy = createServer((client) => {
          const upstream = connect(Number(port), "127.0.0.1");
          client.on("error", () => upstream.destroy());
          upstream.on("error", () => client.destroy());
          client.on("data", (chunk) => upstream.write(chunk));
          upstream.on("data", (chunk) => client.write(chunk));
          timers.push(
            setInterval(() => inData && client.write("250-a\r\n"), 20),
          );
          client.on("close", () => upstream.destroy());
        });
        await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", () => done()));
        const through = url.replace(
          port,
          `${(proxy.address() as { port: number }).port}`,
        );
        await refusedInTime(through);
        proxy.close();
      } else await refusedInTime(url);
      server.close();
    }
    for (const timer of timers) clearInterval(timer);
  },
});

/** An e-mail to a server fails, and may be sent again later. */
async function refusedInTime(url: string): Promise<void> {
  const config = {
    url,
    from: "no-reply@example.com",
    encrypted: false,
    ca: null,
    dkim: null,
  };
  const gateway = openSmtp(config, 700);
  const one = {
    id: newId(1),
    realm: newId(1),
    destination: "ada@example.com",
    created_at: 1,
  };
  const due = {
    channel: "email",
    content: EMAIL,
    ...one,
    attempt: 1,
    toPerson: false,
    refusals: 0,
  } as const;
  const sent = gateway.send(due, new AbortController().signal);
  const error = await sent.then(() => null, (thrown) => thrown);
  deepEqual(
    [error?.name, error?.kind],
    ["GatewayError", "failed"],
    error?.message,
  );
  gateway.close();
}
