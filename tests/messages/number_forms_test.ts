/** Numbers that WhatsApp writes otherwise than their owners do. @module */
import { deepEqual, equal } from "node:assert/strict";
import { formsOf } from "../../domain/messages/number_forms.ts";
import { sharing } from "../support/sharing.ts";
import { SECRET, WHATSAPP, writeTo } from "./fixture.ts";

const env = { INFOBIP_WEBHOOK_SECRET: SECRET };
const test = sharing("forms of WhatsApp numbers in one realm", { env });

/** What somebody wrote from, and what is sent to. */
const SAME: Readonly<Record<string, readonly [string, string]>> = {
  Mexico: ["+5215512345678", "+525512345678"],
  Argentina: ["+5491123456789", "+541123456789"],
  Brazil: ["+5511987654321", "+551187654321"],
};

test("somebody who wrote from one form of a number is written to at the other, and reports of either count", async (realm) => {
  const send = (to: string) =>
    realm.admin.send("POST", "/v1/apps/message/whatsapp", { to, content: WHATSAPP });
  for (const [country, [long, short]] of Object.entries(SAME)) {
    for (const [from, to] of [[long, short], [short, long]]) {
      const before = await send(to);
      if (from === long) equal(before.body.code, "recipient.no_interaction", country);
      await writeTo(realm, from);
      const sent = await send(to);
      equal(sent.status, 201, `${country}: ${sent.text}`);
      const [{ messageId, destination }] = sent.body.messages;
      // The 1 of Mexico is no part of a number any more: it is left out.
      equal(destination, country === "Mexico" ? short : to);
      const status = { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" };
      const report = { messageId, to: from.slice(1), status };
      const callbackData = `purser:${realm.id}:${messageId}`;
      const path = "/v1/messages/webhook/infobip";
      const headers = { authorization: `Bearer ${SECRET}` };
      const body = { results: [{ ...report, callbackData }] };
      equal((await realm.nobody("POST", path, body, headers)).body.taken, 1, country);
    }
  }
});

test("no other number counts as a form of one", async (realm) => {
  const others = [
    "+525512345679",
    "+551137654321",
    "+5511937654321",
    "+385911234567",
    "+5255123456",
  ];
  deepEqual(others.map(formsOf), [
    ["+525512345679", "+5215512345679"],
    ["+551137654321"],
    ["+5511937654321"],
    ["+385911234567"],
    ["+5255123456"],
  ]);
  for (const to of others) {
    const sent = await realm.admin.send("POST", "/v1/apps/message/whatsapp", {
      to,
      content: WHATSAPP,
    });
    equal(sent.status, 422, to);
  }
});
