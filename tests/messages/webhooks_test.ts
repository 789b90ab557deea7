/** Webhooks of the provider of messages. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { listen } from "../support/listening.ts";
import { sharing } from "../support/sharing.ts";
import { EMAIL, SECRET } from "./fixture.ts";

const test = sharing("webhooks in one realm", { env: { INFOBIP_WEBHOOK_SECRET: SECRET } });

test("webhooks of the provider take its secret, as a bearer token or as a password", async (realm) => {
  const path = "/v1/messages/webhook/infobip";
  const body = { results: [] };
  const basic = (password: string) => `Basic ${btoa(`infobip:${password}`)}`;
  for (
    const authorization of [
      `Bearer ${SECRET}`,
      `bearer ${SECRET}`,
      basic(SECRET),
    ]
  ) {
    const answer = await realm.nobody("POST", path, body, { authorization });
    deepEqual([answer.status, answer.body], [200, { taken: 0 }], authorization);
  }
  for (
    const authorization of [
      "Bearer x",
      basic("x"),
      "Basic !",
      `App ${SECRET}`,
      SECRET,
    ]
  ) {
    const answer = await realm.nobody("POST", path, body, { authorization });
    equal(answer.status, 401, authorization);
  }
  equal((await realm.nobody("POST", path, body)).body.code, "auth.missing");
  equal((await realm.admin.send("POST", path, body)).body.code, "auth.missing");
  await using unset = realm.another();
  const answer = await unset.send(null)("POST", path, body, {
    authorization: "Bearer undefined",
  });
  equal(answer.body.code, "auth.invalid");
});

test("a stranger's secret with a million blanks in it is read as quickly as it came", async (realm) => {
  const path = "/v1/messages/webhook/infobip";
  for (const scheme of ["Bearer", "Basic"]) {
    const authorization = `${scheme} a${" ".repeat(1_000_000)}a`; // which took half an hour of the whole process
    const { status } = await realm.nobody("POST", path, { results: [] }, { authorization });
    equal(status, 401);
  }
});

const STATES = {
  route: { groupId: 1, groupName: "PENDING", id: 7, name: "PENDING_ENROUTE", description: "" },
  operator: { groupId: 3, groupName: "DELIVERED", id: 2, name: "DELIVERED_TO_OPERATOR" },
  expired: { groupId: 4, groupName: "EXPIRED", id: 15, name: "EXPIRED_EXPIRED" },
  handset: { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" },
};

/** Sends a message, and gives a function that reports on it. */
async function reporting(realm: TestRealm, to: string) {
  const sent = await realm.admin.send("POST", "/v1/apps/message/email", { to, content: EMAIL });
  const { messageId } = sent.body.messages[0];
  const callbackData = `purser:${realm.id}:${messageId}`;
  return {
    messageId: messageId as string,
    async report(status: unknown, more = {}): Promise<number> {
      const body = { results: [{ messageId, callbackData, status, price: {}, ...more }] };
      const headers = { authorization: `Bearer ${SECRET}` };
      const answer = await realm.nobody("POST", "/v1/messages/webhook/infobip", body, headers);
      equal(answer.status, 200, answer.text);
      return answer.body.taken;
    },
    async state() {
      const { body } = await realm.admin.send("GET", `/v1/messages/${messageId}`);
      return [body.status.id, body.error?.code ?? null];
    },
  };
}

test("delivery reports move a message forward, whatever their order and number", async (realm) => {
  await listen(realm);
  const { messageId, report, state } = await reporting(realm, "report@example.com");
  const { route, operator, expired, handset } = STATES;
  for (
    const [status, taken, ...after] of [
      [route, 1, 7, null],
      [route, 0, 7, null],
      [operator, 1, 2, null],
      [route, 0, 2, null],
      [expired, 1, 15, "upstream.failed"],
      [operator, 0, 15, "upstream.failed"],
      [handset, 1, 5, null],
      [expired, 0, 5, null],
      [handset, 0, 5, null],
    ] as const
  ) {
    equal(await report(status), taken, status.name);
    deepEqual(await state(), after, status.name);
  }
  const events = await rowsOf<{ status: string }>(
    realm,
    `select payload #>> '{status,id}' as status from events
      where type = 'message.updated' and entity = $1 order by position`,
    [messageId],
  );
  deepEqual(events.map((one) => one.status), ["7", "2", "15", "5"]);
});

test("reports of several messages in one request move each forward, in their order", async (realm) => {
  await listen(realm);
  const { route, operator, expired, handset } = STATES;
  const [one, two] = [
    await reporting(realm, "first-of-two@example.com"),
    await reporting(realm, "second-of-two@example.com"),
  ];
  const reports: [string, unknown][] = [
    [one.messageId, route],
    [two.messageId, expired],
    [one.messageId, route],
    [one.messageId, handset],
    [two.messageId, route],
    [one.messageId, operator],
    [crypto.randomUUID(), handset],
  ];
  const results = reports.map(([messageId, status]) => {
    return { messageId, callbackData: `purser:${realm.id}:${messageId}`, status };
  });
  const headers = { authorization: `Bearer ${SECRET}` };
  const path = "/v1/messages/webhook/infobip";
  const answer = await realm.nobody("POST", path, { results }, headers);
  deepEqual([answer.status, answer.body], [200, { taken: 3 }], answer.text);
  deepEqual(await one.state(), [5, null]);
  deepEqual(await two.state(), [15, "upstream.failed"]);
  const events = await rowsOf<{ entity: string; status: string }>(
    realm,
    `select entity, payload #>> '{status,id}' as status from events
      where type = 'message.updated' and entity = any ($1::text::uuid[]) order by position`,
    [`{${one.messageId},${two.messageId}}`],
  );
  deepEqual(events.map(({ entity, status }) => [entity, status]), [
    [one.messageId, "7"],
    [two.messageId, "15"],
    [one.messageId, "5"],
  ]);
});

test("a report that names no message or state of ours changes nothing", async (realm) => {
  const { report, state } = await reporting(realm, "others@example.com");
  for (
    const more of [
      { callbackData: undefined },
      { callbackData: `purser:${crypto.randomUUID()}:${crypto.randomUUID()}` },
      { callbackData: `purser:${realm.id}:${crypto.randomUUID()}`, messageId: undefined },
      { callbackData: "purser:x:y" },
      { messageId: "another" },
      { status: { groupId: 9, id: 1 } },
      { status: "DELIVERED" },
      { status: { ...STATES.handset, id: 2 ** 40 } },
    ]
  ) equal(await report(STATES.handset, more), 0, JSON.stringify(more));
  deepEqual(await state(), [26, null]);
});

test("a report whose texts are long and end in the middle of a sign is taken", async (realm) => {
  const { report, state } = await reporting(realm, "signs@example.com");
  const long = `${"x".repeat(499)}\u{1f600}`; // cut after 500 units, it ends in half a sign
  const { expired } = STATES;
  const name = `${"x".repeat(99)}\u{1f600}`;
  const error = { id: 1, name: "E", description: `${"x".repeat(496)}\u{1f600}` };
  equal(await report({ ...expired, name, description: long }, { error }), 1);
  deepEqual(await state(), [15, "upstream.failed"]);
});

test("a realm that cannot take its reports does not keep others from theirs", async (realm) => {
  const { messageId, report, state } = await reporting(realm, "one-of-two@example.com");
  await using broken = await realm.neighbour();
  const theirs = await reporting(broken, "two-of-two@example.com");
  const { find } = realm.services.realms;
  realm.services.realms.find = (id) => {
    if (id === broken.id) throw new Error("its database is gone");
    return find(id);
  };
  const callbackData = `purser:${broken.id}:${theirs.messageId}`;
  const others = { messageId: theirs.messageId, callbackData, status: STATES.handset };
  const ours = {
    messageId,
    callbackData: `purser:${realm.id}:${messageId}`,
    status: STATES.handset,
  };
  const path = "/v1/messages/webhook/infobip";
  const headers = { authorization: `Bearer ${SECRET}` };
  const log = realm.services.log;
  realm.services.log = () => {};
  try {
    const answer = await realm.nobody("POST", path, { results: [others, ours] }, headers);
    equal(answer.status, 500, "the provider sends them again");
  } finally {
    realm.services.realms.find = find;
    realm.services.log = log;
  }
  deepEqual(await state(), [5, null]);
  equal(await report(STATES.handset), 0);
});

test("the database refuses a state that goes back, and a changed message", async (realm) => {
  const { messageId, report } = await reporting(realm, "database@example.com");
  await report(STATES.handset);
  const change = (set: string) => () =>
    realm.command((tx) => tx.unsafe(`update messages set ${set} where id = '${messageId}'`));
  await rejects(change("group_id = 1, status_id = 7"), { constraint_name: "messages_forward" });
  await rejects(change("group_id = 4, status_id = 15"), { constraint_name: "messages_forward" });
  await rejects(change("status_id = 100"), { constraint_name: "messages_forward" });
  await rejects(change("destination = 'eve@example.com'"), { constraint_name: "messages_fixed" });
  await rejects(change("content = 'x'"), { constraint_name: "messages_fixed" });
  await rejects(change("channel = 'sms'"), { constraint_name: "messages_fixed" });
  await rejects(change("sent_at = now()"), { constraint_name: "messages_sent" });
  await rejects(change("attempt = 0"), { code: "23514" });
});
