/** A real SMTP server on loopback that keeps what it takes. @module */
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** An e-mail that the server took. */
export interface TakenMail {
  from: string;
  to: string[];
  /** Headers and body as they came. */
  raw: string;
}

/** A running server. */
export interface MailServer extends AsyncDisposable {
  url: string;
  taken: TakenMail[];
  /** What happens to the next e-mails, the first first: an SMTP answer, or the loss of the line. */
  faults: { code?: number; lost?: true }[];
}

/** Options of tests in which the client's pool closes after a failure: it leaves short timers and sockets behind. */
export const LATE_TIMERS = { sanitizeOps: false, sanitizeResources: false };

/** Starts a server that asks for a login. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const taken: TakenMail[] = [];
  const faults: MailServer["faults"] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    logger: false,
    name: "mail.test",
    onAuth: ({ username, password }, _session, done) =>
      username === "purser" && password === "p@ss word"
        ? done(null, { user: username })
        : done(new Error("wrong login")),
    onRcptTo: ({ address }, _session, done) =>
      done(
        address.startsWith("nobody@")
          ? Object.assign(new Error("no such mailbox"), { responseCode: 550 })
          : null,
      ),
    onData(stream, session, done) {
      const chunks: Uint8Array[] = [];
      stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      stream.on("end", () => {
        const fault = faults.shift();
        if (fault?.code !== undefined) {
          return done(Object.assign(new Error("refused"), { responseCode: fault.code }));
        }
        const { mailFrom, rcptTo } = session.envelope;
        taken.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: new TextDecoder().decode(new Uint8Array(chunks.flatMap((chunk) => [...chunk]))),
        });
        if (fault?.lost) return server.connections.forEach((one) => one.close());
        done();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.server.address() as { port: number };
  return {
    ...{ taken, faults },
    url: `smtp://purser:p%40ss%20word@127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
