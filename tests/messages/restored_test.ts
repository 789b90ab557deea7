/** Messages of a database that was restored from before they were sent. */
import { deepEqual, equal } from "node:assert/strict";
import { sendMessage } from "../../workers/messages/sending.ts";
import { startInfobip } from "../support/infobip.ts";
import { keepRealm, restoreRealm } from "../support/installation.ts";
import { testRealm } from "../support/realm.ts";
import { startMailServer } from "../support/smtp.ts";
import { EMAIL, number, processOf } from "./fixture.ts";

const HOUR_MS = 3_600_000;

Deno.test("messages that were sent after the backup: Infobip knows them, an e-mail comes with its Message-ID, old ones expire", async () => {
  await using infobip = startInfobip();
  await using mail = await startMailServer();
  await using realm = await testRealm();
  const { INFOBIP_EMAIL_FROM: _, ...texts } = infobip.env;
  const env = { ...texts, SMTP_URL: mail.url, SMTP_FROM: "no-reply@example.com" };
  const send = async (channel: string, to: string, content: unknown): Promise<string> => {
    const { body } = await realm.admin.send("POST", `/v1/apps/message/${channel}`, { to, content });
    return body.messages[0].messageId;
  };
  const ids = {
    text: await send("sms", number(), { text: "x" }),
    email: await send("email", "ada@example.com", EMAIL),
  };
  const stateOf = async (id: string) =>
    (await realm.admin.send("GET", `/v1/messages/${id}`)).body.status.name;
  const run = async (now: number) => {
    const process = processOf(realm, env, now);
    for (const message of Object.values(ids)) {
      await sendMessage(process.context, { message, attempt: 1 });
    }
    process.close();
    return await Promise.all(Object.values(ids).map(stateOf));
  };
  const SENT = ["PENDING_ENROUTE", "DELIVERED_TO_OPERATOR"];
  await keepRealm(realm);
  deepEqual(await run(Date.now()), SENT);
  await restoreRealm(realm);
  deepEqual(await run(Date.now()), SENT);
  deepEqual([infobip.taken.length, infobip.paths.length], [1, 2]);
  const named = mail.taken.map(({ raw }) => /^message-id: *(.*)$/im.exec(raw)?.[1]);
  deepEqual(named, [1, 2].map(() => `<${ids.email}@example.com>`));
  await restoreRealm(realm);
  deepEqual(await run(Date.now() + HOUR_MS + 1000), ["EXPIRED_EXPIRED", "EXPIRED_EXPIRED"]);
  equal(infobip.paths.length + mail.taken.length, 4);
});
