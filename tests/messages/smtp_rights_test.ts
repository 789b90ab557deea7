/** SMTP with the rights of the service: it reaches the server by its name, and reads nothing of the machine. */
import { equal } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { openSmtp } from "../../workers/gateways/smtp.ts";
import { type MailServer, startMailServer } from "../support/smtp.ts";
import { EMAIL } from "./fixture.ts";

let server: MailServer | undefined;

Deno.test.beforeAll(async () => {
  server = await startMailServer();
});

Deno.test.afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

Deno.test({
  name: "an e-mail is sent with the rights of the service",
  permissions: { net: ["localhost"], sys: false, run: false, write: false, ffi: false },
  // The client's pool leaves short timers behind when it closes.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const url = server!.url.replace("127.0.0.1", "localhost");
    const gateway = openSmtp({
      url,
      from: "no-reply@example.com",
      encrypted: false,
      ca: null,
      dkim: null,
    });
    const one = { id: newId(1), realm: newId(1), destination: "ada@example.com", created_at: 1 };
    const due = {
      channel: "email",
      content: EMAIL,
      ...one,
      attempt: 1,
      toPerson: false,
      refusals: 0,
    } as const;
    await gateway.send(due, new AbortController().signal);
    gateway.close();
    equal(server!.taken.length, 1);
  },
});
