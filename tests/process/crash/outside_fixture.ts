/** A service, and those outside that it asks: messages, profiles of persons, an exchange, a node. @module */
import { EXCHANGE_KEY, type ExchangeServer, startExchange } from "../../support/exchange_server.ts";
import { superuserUrl } from "../../support/database.ts";
import { until } from "../../support/eventually.ts";
import {
  type InfobipServer as MessagesServer,
  startInfobip as startMessages,
} from "../../support/infobip.ts";
import { startAnvil } from "../../support/nodes/anvil.ts";
import {
  INFOBIP_KEY,
  type InfobipServer as PeopleServer,
  startInfobip as startPeople,
} from "../../people/infobip_server.ts";
import { connect } from "./proof.ts";
import { makeRealm, PLATFORM_KEY, type Service, startService } from "./service.ts";

/** An answer of the service. */
export interface Answer {
  status: number;
  // Answers are looked into freely.
  // deno-lint-ignore no-explicit-any
  body: any;
  text: string;
}
type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** The service and who is outside. */
export interface OutsideFixture extends AsyncDisposable {
  /** As the administrator, and as nobody. */
  send: Send;
  nobody: Send;
  infobip: MessagesServer;
  platform: PeopleServer;
  exchange: ExchangeServer;
  /** What the service has logged. */
  lines: string[];
  /** Keys that the service was given. */
  secrets: string[];
  /**
   * Kills the service when a request (`METHOD /path`) was answered, while the record of it waits
   * for the rows of a table; settled when the service is back.
   */
  killAfter(request: string, table: string): Promise<void>;
  /** Has jobs run that wait for their time, or for a process that is gone. */
  hurry(): Promise<void>;
  /** An account that can receive ETH. */
  account(): Promise<string>;
}

/** For how long a runner claims a job: the lease of workers/jobs/runner.ts. */
const LEASE_S = 60;
/** The key of the account at Infobip. */
const KEY = "the-key-of-all-of-infobip";

/** Starts all, with a realm whose persons are at Infobip. */
export async function openOutside(databaseUrl: string): Promise<OutsideFixture> {
  const stack = new AsyncDisposableStack();
  const infobip = stack.use(startMessages());
  const platform = stack.use(startPeople());
  const exchange = stack.use(startExchange());
  const anvil = stack.use(await startAnvil(1));
  await anvil.mine();
  const hooks = new Map<string, () => Promise<void>>();
  const onAnswer = async (request: string) => {
    const hook = hooks.get(request);
    hooks.delete(request);
    await hook?.();
  };
  exchange.instead = async (request, after) => {
    if (after) await onAnswer(request);
    return null;
  };
  const front = startFront({ infobip, platform, onAnswer });
  stack.defer(() => front.shutdown());
  const settings: Record<string, string> = {
    ...infobip.env,
    ...{ INFOBIP_BASE_URL: `http://127.0.0.1:${front.addr.port}`, INFOBIP_API_KEY: KEY },
    ...{ ETHEREUM_RPC_URL: anvil.url, ETHEREUM_CONFIRMATIONS: "2" },
    ...{ EXCHANGES: "binance", RAMP_BINANCE_URL: exchange.url, LOG_LEVEL: "debug" },
  };
  const lines: string[] = [];
  const service = stack.use(
    await startService(databaseUrl, settings, (line) => void lines.push(line)),
  );
  const { key, schema: realm } = await makeRealm(service, 1);
  Object.assign(settings, { CDP_PROVIDER: "infobip", CDP_REALM: realm });
  await service.kill("SIGTERM");
  const url = new URL(superuserUrl());
  url.pathname = new URL(databaseUrl).pathname;
  const [sql, rows] = [1, 2].map(() => stack.use(connect({ superuserUrl: url.href })));
  const [{ schema }] = await sql<{ schema: string }[]>`
    select schema_name as schema from platform.realms where id = ${realm}`;
  const send = sender(service, key);
  return {
    ...{ send, nobody: sender(service, ""), infobip, platform, exchange, lines },
    secrets: [
      ...[KEY, key, PLATFORM_KEY, INFOBIP_KEY, infobip.key, infobip.env.INFOBIP_WEBHOOK_SECRET],
      ...[EXCHANGE_KEY.secret, EXCHANGE_KEY.api_key],
    ],
    killAfter: (request, table) => killAfter({ sql, rows, schema, service, hooks }, request, table),
    async hurry() {
      await sql.unsafe(`update "${schema}".jobs set run_at = now() where state = 'ready';
        update "${schema}".leases set next_at = now() where name = 'follow exchanges';
        update "${schema}".ramp_transfers set next_at = now() where state in ('new', 'asking')`);
    },
    account: () => receivingAccount(send),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Both halves of Infobip under one address and one key. */
function startFront(
  { infobip, platform, onAnswer }: {
    infobip: MessagesServer;
    platform: PeopleServer;
    onAnswer(request: string): Promise<void>;
  },
) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const isPeople = pathname.startsWith("/people");
    const headers = new Headers(request.headers);
    const isRight = headers.get("authorization") === `App ${KEY}`;
    const right = isPeople ? INFOBIP_KEY : infobip.key;
    headers.set("authorization", `App ${isRight ? right : "another"}`);
    const { method } = request;
    const body = method === "GET" ? undefined : await request.arrayBuffer();
    const target = (isPeople ? platform.url : infobip.url) + pathname + search;
    try {
      const answer = await fetch(target, { method, headers, body });
      const text = await answer.text();
      await onAnswer(`${method} ${pathname}`);
      const type = answer.headers.get("content-type") ?? "text/plain";
      return new Response(text, { status: answer.status, headers: { "content-type": type } });
    } catch {
      return new Response(null, { status: 502 }); // the answer was lost
    }
  });
}

function sender(service: { url: string }, key: string): Send {
  return async (method, path, body) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { ...(key === "" ? {} : { "x-api-key": key }), "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text), text };
  };
}

/** An account that can receive ETH. */
async function receivingAccount(send: Send): Promise<string> {
  const ready = async (wanted: unknown) => {
    const { body } = await send("POST", "/v1/accounts", wanted);
    await until(async () => (await send("GET", `/v1/accounts/${body.id}`)).body.enabled, 200);
    return body.id as string;
  };
  const ramp = await ready({ type: "ramp", asset: "ETH" });
  return await ready({ type: "virtual", asset: "ETH", ramp });
}

/** What is needed to kill a service at a place. */
interface KillTools {
  sql: ReturnType<typeof connect>;
  /** A connection that holds rows. */
  rows: ReturnType<typeof connect>;
  schema: string;
  service: Service;
  /** What happens when a request was answered. */
  hooks: Map<string, () => Promise<void>>;
}

async function killAfter(
  { sql, rows, schema, service, hooks }: KillTools,
  request: string,
  table: string,
): Promise<void> {
  const held = Promise.withResolvers<void>();
  hooks.set(request, async () => {
    await rows.unsafe(`begin; select from "${schema}"."${table}" for update`);
    held.resolve();
  });
  await held.promise;
  await until(async () => {
    const [{ waits }] = await sql<{ waits: number }[]>`
      select count(*)::int as waits from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return waits > 0;
  });
  const [{ at }] = await sql<{ at: string }[]>`select clock_timestamp()::text as at`;
  await service.kill();
  await rows.unsafe("rollback");
  // What the killed process had claimed is free at once, as it is when its leases have run out.
  await sql.unsafe(`
    update "${schema}".jobs set state = 'ready', locked_until = null, run_at = now()
      where state = 'running' and locked_until < '${at}'::timestamptz + interval '${LEASE_S} seconds';
    update "${schema}".leases set until = now(), next_at = now()`);
}
