/** Messages that cannot be right. @module */
import { deepEqual, equal } from "node:assert/strict";
import { sharing } from "../support/sharing.ts";
import { EMAIL, number, WHATSAPP } from "./fixture.ts";

const test = sharing("bad messages in one realm");
const TO = "ada@example.com";
const NUMBER = number();

/** Contents that are refused with 400. */
const CONTENTS: Readonly<Record<string, readonly unknown[]>> = {
  email: [
    { subject: "x" },
    { subject: "a\r\nBcc: eve@example.com", text: "x" },
    { subject: "a\nb", text: "x" },
    { subject: "a\u2028b", text: "x" },
    { subject: "", text: "x" },
    { subject: "x".repeat(999), text: "x" },
    { text: "x" },
    { ...EMAIL, from: "eve@example.com" },
    { ...EMAIL, replyTo: "eve@example.com" },
    { ...EMAIL, headers: { bcc: "eve@example.com" } },
    { subject: "x", html: "x".repeat(100_001) },
    { subject: "x", html: "" },
    { subject: "x", html: 1 },
    "hello",
  ],
  sms: [
    { text: "" },
    { text: " " },
    { text: "x\u0000" },
    { text: "x".repeat(1531) },
    EMAIL,
    {},
  ],
  whatsapp: [
    ...["Ada", [1], [""], ["two\nlines"], ["a\tb"], ["a     b"], Array(51).fill("x")]
      .map((placeholders) => ({ ...WHATSAPP, templateData: { body: { placeholders } } })),
    { ...WHATSAPP, templateData: {} },
    { ...WHATSAPP, templateName: "Not One" },
    { ...WHATSAPP, language: "english" },
    { text: "x" },
  ],
};

/** Recipients that are refused with 422. */
const RECIPIENTS: Readonly<Record<string, readonly string[]>> = {
  email: [
    "Ada Lovelace",
    "Ada <ada@example.com>",
    "ada@example.com\r\nBcc: eve@example.com",
    "ada@example.com,eve@example.com",
    "ada@exam ple.com",
    `${"x".repeat(65)}@example.com`,
    NUMBER,
  ],
  sms: [TO, "Ada", "0911234567", "+999999999999999", "+1", `${NUMBER};ext=1`, "+385\n911234567"],
  whatsapp: [TO, "447860099299"],
};

/** A content of each channel that is right. */
const RIGHT: Readonly<Record<string, unknown>> = {
  email: EMAIL,
  sms: { text: "x" },
  whatsapp: WHATSAPP,
};

test("a message that cannot be right is refused, and none is stored", async (realm) => {
  const send = async (channel: string, body: unknown, status: number, code: string) => {
    const answer = await realm.admin.send("POST", `/v1/apps/message/${channel}`, body);
    const shown = JSON.stringify(body).slice(0, 200);
    deepEqual([answer.status, answer.body.code], [status, code], `${channel} ${shown}`);
  };
  const before = (await realm.admin.send("GET", "/v1/messages/count")).body;
  for (const [channel, contents] of Object.entries(CONTENTS)) {
    const to = channel === "email" ? TO : NUMBER;
    for (const content of contents) await send(channel, { to, content }, 400, "request.invalid");
  }
  for (const [channel, recipients] of Object.entries(RECIPIENTS)) {
    const content = RIGHT[channel];
    for (const to of recipients) await send(channel, { to, content }, 422, "recipient.invalid");
  }
  for (const body of [{ content: EMAIL }, { to: [TO], content: EMAIL }, { to: TO }]) {
    await send("email", body, 400, "request.invalid");
  }
  await send("email", { to: TO, cc: TO, content: EMAIL }, 400, "request.invalid");
  const long = { subject: "x", html: "x".repeat(200_000) };
  await send("email", { to: TO, content: long }, 413, "request.too_large");
  await send("fax", { to: NUMBER, content: { text: "x" } }, 404, "route.not_found");
  equal((await realm.admin.send("GET", "/v1/messages/count")).body, before);
});
