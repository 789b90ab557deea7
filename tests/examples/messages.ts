/** Messages, and the webhooks of their provider. @module */
import type { World } from "./world.ts";

const CONTENTS = {
  Sms: { text: "Your code is 123456." },
  WhatsApp: {
    templateName: "welcome",
    templateData: { body: { placeholders: ["Ana"] } },
    language: "en",
  },
  Email: { subject: "Welcome", text: "Your account is open." },
};

/** Walks through messages. */
export async function walkMessages(world: World): Promise<void> {
  const { ask, browse, realm, infobip } = world;
  const headers = { authorization: `Bearer ${infobip.env.INFOBIP_WEBHOOK_SECRET}` };
  const number = "+385917654321";
  await ask("recordWhatsAppMessages", {
    key: null,
    headers,
    body: {
      results: [{
        from: number.slice(1),
        to: infobip.env.INFOBIP_WHATSAPP_FROM,
        integrationType: "WHATSAPP",
        receivedAt: "2026-01-01T00:00:00.000+0000",
      }],
    },
  });
  const { id: user } = await ask("createUser", {
    body: {
      username: "eva",
      password: world.password,
      roles: "user",
      scopes: "own",
      channel: { email: "eva@example.com", sms: number, whatsapp: number },
    },
    aside: true,
  });
  const { id: identity } = await ask("createPersonIdentity", {
    body: {
      person: {
        firstName: "Eva",
        contactInformation: {
          phone: [{ number }],
          email: [{ address: "eva@example.com" }],
        },
      },
    },
    aside: true,
  });
  const to = { Sms: number, WhatsApp: number, Email: "eva@example.com" };
  for (const channel of ["Sms", "WhatsApp", "Email"] as const) {
    const content = CONTENTS[channel];
    await ask(`send${channel}ToAnyone`, { body: { to: to[channel], content } });
    await ask(`send${channel}ToUser`, { path: { id: user }, body: { content } });
    await ask(`send${channel}ToPerson`, { path: { id: identity }, body: { content } });
  }
  await realm.drain();
  const sent = await ask("sendEmailToAnyone", {
    body: { to: "ivo@example.com", content: CONTENTS.Email },
    aside: true,
  });
  await realm.drain();
  const [{ messageId: id }] = sent.messages;
  await ask("recordDeliveryReports", {
    key: null,
    headers,
    body: {
      results: [{
        messageId: id,
        callbackData: `purser:${realm.id}:${id}`,
        status: { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" },
        error: { groupId: 0, groupName: "OK", id: 0, name: "NO_ERROR", permanent: false },
      }],
    },
  });
  await browse({ many: "Messages", one: "Message", id });
  await ask("updateMessage", { path: { id }, body: { data: { campaign: "spring" } } });
}
