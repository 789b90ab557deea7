/**
 * What events cost, and how fast they are delivered: single transfers over 256 connections with one
 * webhook on `transaction.created` beside the same without a listener, in rounds that alternate, and
 * the deliveries to a receiver in this process, under load and afterwards.
 * `deno task bench --only=events`.
 *
 * @module
 */
import { chooseGenerator, transfersOf } from "./load.ts";
import { median } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { makeRealm, removeStand, send, startService, startStand } from "./stand.ts";

const ACCOUNTS = 1000;
const CONNECTIONS = 256;
/** Least part of the rate that is left with a webhook. */
const SHARE_MIN = 0.7;
/** Least deliveries a second. */
const RATE_MIN = 2000;
/** Rounds that are not counted: the process compiles meanwhile. */
const WARM = 1;

/**
 * A receiver that counts. It reads each message, as receivers do, which verify it: a server whose handler leaves a
 * request unread ends the connection with its answer.
 */
export function openReceiver() {
  const ids = new Set<string>();
  let repeats = 0;
  const where = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(where, async (request) => {
    await request.bytes();
    const id = request.headers.get("webhook-id")!;
    if (ids.has(id)) repeats++;
    ids.add(id);
    return new Response();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    count: () => ids.size,
    repeats: () => repeats,
    close: () => server.shutdown(),
  };
}

/** Measures and prints it. */
export async function benchEvents(
  asked: { rounds: number; seconds: number; own: boolean; wrk: boolean },
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder);
  const receiver = openReceiver();
  const service = await startService(stand, {
    workers: true,
    env: { WEBHOOKS_ALLOW_PRIVATE: "true", INSTALLATION_EPOCH: "bench" },
  });
  try {
    const realm = await makeRealm(stand, service, { name: "events", accounts: ACCOUNTS });
    const generator = await chooseGenerator(work, asked);
    const load = {
      connections: CONNECTIONS,
      how: "uniform",
      many: 1,
      seconds: asked.seconds,
    } as const;
    const run = async () => transfersOf(await generator.run(service.port, realm, load), load);
    const hook = { url: receiver.url, events: ["transaction.created"] };
    const created = () => send(service, realm.key, "/v1/webhooks", hook);
    const quiet = async () => {
      const waits = () =>
        stand.sql.unsafe<{ n: number }[]>(
          `select ((select count(*) from ${realm.schema}.ledger_commits) +
            (select count(*) from ${realm.schema}.webhook_deliveries where status = 'PENDING'))::integer as n`,
        );
      while ((await waits())[0].n > 0) await pause(20);
    };
    const found: Round[] = [];
    for (let round = -WARM; round < asked.rounds; round++) {
      await quiet();
      const bare = await run() / asked.seconds;
      await quiet();
      const { id } = await created();
      const before = receiver.count();
      const heard = await run() / asked.seconds;
      const meanwhile = receiver.count() - before;
      const start = performance.now();
      await quiet();
      const rest = receiver.count() - before - meanwhile;
      const after = rest / ((performance.now() - start) / 1000);
      await remove(`${service.url}/v1/webhooks/${id}`, realm.key);
      if (round >= 0) found.push({ bare, heard, beside: meanwhile / asked.seconds, after });
    }
    print(found, receiver);
  } finally {
    await service.stop();
    await receiver.close();
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

/** Rates a second. */
interface Round {
  /** Transfers without a listener, and with a webhook. */
  bare: number;
  heard: number;
  /** Deliveries beside the transfers, and afterwards. */
  beside: number;
  after: number;
}

function print(found: Round[], receiver: ReturnType<typeof openReceiver>): void {
  const middle = (field: keyof Round) => median(found.map((one) => one[field]));
  const whole = (field: keyof Round) => middle(field).toFixed(0);
  const share = median(found.map(({ bare, heard }) => heard / bare));
  const rate = middle("after");
  console.log(
    `events: single transfers over ${CONNECTIONS} connections, ${
      whole("bare")
    }/s without a listener ` +
      `and ${whole("heard")}/s with a webhook on transaction.created: ${share.toFixed(2)} of it ` +
      `(must ${SHARE_MIN}) ${verdictOf(share >= SHARE_MIN) ?? ""}\n` +
      `events: ${whole("beside")} deliveries/s beside them, and ${rate.toFixed(0)}/s afterwards ` +
      `(must ${RATE_MIN}) ${verdictOf(rate >= RATE_MIN) ?? ""}; ${receiver.repeats()} repeats, ` +
      `${receiver.count()} events`,
  );
}

async function remove(url: string, key: string): Promise<void> {
  const answer = await fetch(url, { method: "DELETE", headers: { "x-api-key": key } });
  await answer.body?.cancel();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
