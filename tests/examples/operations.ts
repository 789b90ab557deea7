/** Webhooks, events, jobs, stops, notes, the trail, and the service itself. @module */
import { newId } from "../../domain/ids.ts";
import { rowsOf } from "../support/realm.ts";
import type { World } from "./world.ts";

/** Walks through what those who run a realm see. */
export async function walkOperations(world: World): Promise<void> {
  await webhooks(world);
  await jobs(world);
  await stops(world);
  await trail(world);
  await pages(world);
}

async function webhooks(world: World): Promise<void> {
  const { ask, browse, receiver, deliverer, start } = world;
  const made = await ask("createWebhook", {
    body: {
      url: `${receiver.url}/purser`,
      events: ["account.enabled", "transaction.created"],
      data: { team: "treasury" },
    },
  });
  const path = { id: made.id };
  await browse({ many: "Webhooks", one: "Webhook", id: made.id });
  await ask("updateWebhook", { path, body: { events: ["account.enabled"] } });
  await ask("rotateWebhookSecret", { path, body: { hours: 24 } });
  await ask("testWebhook", { path });
  const account = await world.account();
  await deliverer.run();
  const query = { type: "account.enabled", entity: account };
  await ask("findEvents", { query });
  const [{ id: after }] = await ask("findEvents", { query: { limit: 1 }, aside: true });
  await ask("streamEvents", { query: { ...query, after } });
  const [delivery] = await ask("listDeliveries", {
    path,
    query: { status: "DELIVERED", limit: 1 },
  });
  await ask("resendDelivery", { path: { ...path, delivery: delivery.id } });
  await deliverer.run();
  await ask("resendDeliveries", {
    path: { id: await failing(world) },
    body: { from: start - 3_600_000 },
  });
  await ask("deleteWebhook", { path });
  await ask("undeleteWebhook", { path });
}

/** A webhook whose receiver was gone, and is there again. */
async function failing({ ask, receiver, deliverer, account }: World): Promise<string> {
  const body = { url: `${receiver.url}/gone`, events: ["account.enabled"] };
  const { id } = await ask("createWebhook", { body, aside: true });
  await account();
  receiver.answer = () => new Response(null, { status: 410 });
  await deliverer.run();
  receiver.answer = () => new Response("thanks");
  await ask("updateWebhook", { path: { id }, body: { active: true }, aside: true });
  return id;
}

async function jobs(world: World): Promise<void> {
  const { ask, realm } = world;
  const [one, other] = [await deadJob(world), await deadJob(world)];
  await ask("listJobs", { query: { state: "dead", name: "persons.sync", limit: 1 } });
  await ask("getJob", { path: { id: one } });
  await ask("retryJob", { path: { id: one } });
  await ask("discardJob", { path: { id: other }, body: { reason: "the persons were read anew" } });
  await realm.drain();
}

/** A job whose every attempt has failed. */
async function deadJob({ realm }: World): Promise<string> {
  const id = newId(Date.now());
  await rowsOf(
    realm,
    `insert into jobs (id, name, payload, state, run_at, attempts, last_error, finished_at)
      values ($1, 'persons.sync', $2, 'dead', now(), 12, 'upstream.failed: no answer', now())`,
    [id, { sync: newId(Date.now()) }],
  );
  return id;
}

async function stops(world: World): Promise<void> {
  const { ask, browse } = world;
  const account = await world.account();
  const made = await ask("createStop", {
    body: { what: "moves", account, reason: "the owner has lost the key" },
  });
  await browse({ many: "Stops", one: "Stop", id: made.id });
  await ask("liftStop", { path: { id: made.id } });
  await ask("createNote", {
    body: { entity: account, text: "Called the owner: a new key is on its way.", kind: "call" },
  });
  await ask("listNotes", { query: { entity: account } });
}

async function trail({ ask }: World): Promise<void> {
  await ask("listAuditLines", {
    query: { action: "POST /v1/currencies", sort: "created_at", limit: 1 },
  });
  await ask("findEntities", { query: { q: "till-7", limit: 1 } });
}

async function pages({ ask, platformKey }: World): Promise<void> {
  const key = null;
  const headers = { accept: "text/html" };
  await ask("getOpenapi", { key, show: ({ openapi }) => ({ openapi }) });
  const show = (page: string) => page.split("</title>")[0] + "</title>";
  await ask("openReference", { key, headers, as: "text/html" });
  await ask("getReference", { key, show });
  await ask("getReferenceAsset", { key, path: { name: "start.js" }, as: "text/javascript" });
  await ask("getProblem", { key, path: { code: "balance.insufficient" }, show });
  await ask("getGuides", { key, show });
  await ask("getGuide", { key, path: { section: "guide", page: "blocks" }, show });
  await ask("checkLiveness", { key });
  // As a server of one's own is; tests share one, and trust it to memory.
  const settle = {
    "checks.database.durable": true,
    "checks.database.realms": { behind: 0, ahead: 0 },
    "checks.installation": {
      epoch: 1,
      halted: null,
      waiting: null,
      seedless: 0,
      platform_key: true,
    },
  };
  await ask("checkReadiness", { key, settle });
  const requests = /^# (HELP|TYPE) http_requests_total|^http_requests_total.*"\/health\/live"/;
  await ask("getMetrics", {
    key: platformKey,
    show: (text: string) => text.split("\n").filter((line) => requests.test(line)).join("\n"),
  });
}
