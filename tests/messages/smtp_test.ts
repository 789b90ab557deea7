/** E-mails over SMTP, against a real server. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { newId } from "../../domain/ids.ts";
import type { DueMessage } from "../../domain/messages/sending.ts";
import { openSmtp } from "../../workers/gateways/smtp.ts";
import { LATE_TIMERS, type MailServer, startMailServer } from "../support/smtp.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { EMAIL } from "./fixture.ts";

const FROM = "Purser <no-reply@example.com>";

async function send(realm: TestRealm, content: unknown, to = "ada@example.com") {
  const answer = await realm.admin.send("POST", "/v1/apps/message/email", { to, content });
  equal(answer.status, 201, answer.text);
  return answer.body.messages[0].messageId as string;
}

async function shown(realm: TestRealm, id: string) {
  return (await realm.admin.send("GET", `/v1/messages/${id}`)).body;
}

async function hurry(realm: TestRealm): Promise<void> {
  await rowsOf(realm, "update jobs set run_at = now() where state = 'ready'");
  await realm.drain();
}

/** A header of an e-mail, unfolded. */
function header(raw: string, name: string): string | null {
  const head = raw.split("\r\n\r\n")[0].replaceAll(/\r\n[ \t]+/g, " ");
  return new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1] ?? null;
}

Deno.test("e-mails over SMTP", LATE_TIMERS, async (t) => {
  await using server = await startMailServer();
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  await using realm = await testRealm({
    env: {
      SMTP_URL: server.url,
      SMTP_FROM: FROM,
      SMTP_DKIM_DOMAIN: "example.com",
      SMTP_DKIM_SELECTOR: "purser",
      SMTP_DKIM_KEY: privateKey.replaceAll("\n", "\\n"),
    },
  });
  realm.services.log = () => {};
  const steps: Record<string, (realm: TestRealm, server: MailServer) => Promise<void>> = {
    "an e-mail arrives signed, with a Message-ID of its own, as html where both are given": arrives,
    "the signature (DKIM) is right for the public key, and for nothing that was changed": (
      realm,
      server,
    ) => signed(realm, server, publicKey),
    "an unknown mailbox ends as REJECTED at once": unknownMailbox,
    "a server that refuses for now is asked again, one that refuses for good is not": refusals,
    "a confirmation that was lost sends the e-mail again with the same Message-ID": lost,
  };
  for (const [name, work] of Object.entries(steps)) {
    await t.step(name, async () => {
      server.taken.length = server.faults.length = 0;
      await work(realm, server);
    });
  }
});

async function arrives(realm: TestRealm, server: MailServer): Promise<void> {
  const subject = "Grüße, Ада";
  const html = "<p>Your account is open.</p>";
  const id = await send(realm, { subject, html, text: "Your account is open." });
  await realm.drain();
  const [mail] = server.taken;
  deepEqual([mail.from, mail.to], ["no-reply@example.com", ["ada@example.com"]]);
  equal(header(mail.raw, "from"), FROM);
  equal(header(mail.raw, "to"), "ada@example.com");
  equal(header(mail.raw, "message-id"), `<${id}@example.com>`);
  equal(header(mail.raw, "auto-submitted"), "auto-generated");
  match(header(mail.raw, "subject")!, /^=\?UTF-8\?[BQ]\?/i);
  match(header(mail.raw, "content-type")!, /^text\/html/);
  const signature = header(mail.raw, "dkim-signature")!;
  match(signature, /d=example\.com;/);
  match(signature, /s=purser;/);
  const message = await shown(realm, id);
  deepEqual([message.status.name, message.provider, message.error], [
    "DELIVERED_TO_OPERATOR",
    "smtp",
    null,
  ]);
  await send(realm, EMAIL);
  await realm.drain();
  match(header(server.taken[1].raw, "content-type")!, /^text\/plain/);
}

async function signed(realm: TestRealm, server: MailServer, publicKey: string): Promise<void> {
  const text = "Your account  is open. \n\n.\nGrüße \t\n\n\n";
  for (const content of [EMAIL, { subject: "Grüße, Ада ".repeat(20), text }]) {
    await send(realm, content);
    await realm.drain();
    const { raw } = server.taken.pop()!;
    equal(isSigned(raw, publicKey), true);
    equal(isSigned(raw.replace("open", "shut"), publicKey), false, "another text");
    equal(isSigned(raw.replace(/^To: ada/m, "To: eve"), publicKey), false, "another recipient");
    equal(isSigned(raw.replace(/^Subject: /m, "Subject: not "), publicKey), false, "a subject");
    const other = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    equal(isSigned(raw, other.publicKey), false, "another key");
  }
}

/** Verifies a signature as RFC 6376 describes it, for rsa-sha256 and relaxed/relaxed. */
function isSigned(raw: string, publicKey: string): boolean {
  const end = raw.indexOf("\r\n\r\n");
  const headers = raw.slice(0, end).split(/\r\n(?![ \t])/);
  const nameOf = (line: string) => line.slice(0, line.indexOf(":")).trim().toLowerCase();
  const relaxed = (line: string) =>
    `${nameOf(line)}:${
      line.slice(line.indexOf(":") + 1).replaceAll(/\r\n/g, "").replaceAll(/[ \t]+/g, " ").trim()
    }`;
  const signature = headers.find((line) => nameOf(line) === "dkim-signature")!;
  const tags = new Map(
    signature.slice(signature.indexOf(":") + 1).split(";").map((tag) => {
      const [name, ...value] = tag.split("=");
      return [name.trim(), value.join("=").replaceAll(/\s/g, "")] as const;
    }),
  );
  deepEqual([tags.get("a"), tags.get("c")], ["rsa-sha256", "relaxed/relaxed"]);
  const lines = raw.slice(end + 4).split("\r\n")
    .map((line) => line.replaceAll(/[ \t]+/g, " ").replace(/ $/, ""));
  while (lines.at(-1) === "") lines.pop();
  const body = lines.length === 0 ? "" : `${lines.join("\r\n")}\r\n`;
  if (createHash("sha256").update(body).digest("base64") !== tags.get("bh")) return false;
  const left = headers.filter((line) => line !== signature);
  const covered = tags.get("h")!.toLowerCase().split(":").flatMap((name) => {
    const at = left.findLastIndex((line) => nameOf(line) === name);
    return at < 0 ? [] : left.splice(at, 1);
  });
  for (const name of ["from", "to", "subject", "message-id"]) {
    ok(covered.some((line) => nameOf(line) === name), `${name} is signed`);
  }
  const unsigned = relaxed(signature).replace(/(;\s*b=|^b=)[^;]*/, "$1");
  const text = [...covered.map(relaxed), unsigned].join("\r\n");
  return verify(
    "sha256",
    new TextEncoder().encode(text),
    publicKey,
    Uint8Array.fromBase64(tags.get("b")!),
  );
}

async function unknownMailbox(realm: TestRealm, server: MailServer): Promise<void> {
  const id = await send(realm, EMAIL, "nobody@example.com");
  await realm.drain();
  const { status, error } = await shown(realm, id);
  deepEqual([status.name, error.code], ["REJECTED_DESTINATION", "upstream.failed"]);
  equal(server.taken.length, 0);
}

async function refusals(realm: TestRealm, server: MailServer): Promise<void> {
  server.faults.push({ code: 451 });
  const later = await send(realm, EMAIL);
  await realm.drain();
  equal((await shown(realm, later)).status.groupName, "PENDING");
  await hurry(realm);
  equal((await shown(realm, later)).status.groupName, "DELIVERED");
  server.faults.push({ code: 552 });
  const never = await send(realm, EMAIL);
  await realm.drain();
  const { status, error } = await shown(realm, never);
  equal(status.groupName, "REJECTED");
  match(error.detail, /552/);
  equal(server.taken.length, 1);
}

async function lost(realm: TestRealm, server: MailServer): Promise<void> {
  server.faults.push({ lost: true });
  const id = await send(realm, EMAIL);
  await realm.drain();
  equal((await shown(realm, id)).status.groupName, "PENDING");
  await hurry(realm);
  equal((await shown(realm, id)).status.groupName, "DELIVERED");
  deepEqual(
    server.taken.map((mail) => header(mail.raw, "message-id")),
    [`<${id}@example.com>`, `<${id}@example.com>`],
  );
}

/** An e-mail that is due. */
function due(content: DueMessage["content"]): DueMessage {
  const one = { id: newId(1), realm: newId(1), destination: "ada@example.com" };
  return {
    channel: "email",
    content,
    ...one,
    attempt: 1,
    toPerson: false,
    refusals: 0,
  } as DueMessage;
}

Deno.test({
  name: "an SMTP server that offers no encryption, or refuses the login, gets no e-mail",
  ...LATE_TIMERS,
  fn: refusesUntrusted,
});

async function refusesUntrusted(): Promise<void> {
  await using server = await startMailServer();
  const { signal } = new AbortController();
  const base = { from: FROM, ca: null, dkim: null };
  const open = openSmtp({ ...base, url: server.url, encrypted: true });
  await rejects(open.send(due(EMAIL), signal), { name: "GatewayError", kind: "settings" });
  open.close();
  const url = server.url.replace("p%40ss%20word", "another");
  const stranger = openSmtp({ ...base, url, encrypted: false });
  const error = await stranger.send(due(EMAIL), signal).then(() => null, (thrown) => thrown);
  ok(error !== null && !error.message.includes("another"), error?.message);
  stranger.close();
  equal(server.taken.length, 0);
}
