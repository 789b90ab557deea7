/**
 * Moves between two servers of which the service reaches either through PgBouncer in transaction mode, where each
 * transaction has another session. Run where PgBouncer is installed.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { cancel, carryOn, dropOld } from "../../workers/moves/moving.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { POOLER, type Pooler, startPooler } from "../support/pooler.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

/** A server, and the pooler before it. */
interface Pooled extends AsyncDisposable {
  server: EmbeddedPostgres;
  pooler: Pooler;
}

async function startPooled(folder: string): Promise<Pooled> {
  await Deno.mkdir(folder, { mode: 0o755 });
  await Deno.chmod(folder, 0o755);
  const settings = { fsync: "off", max_connections: "200" };
  const server = await startEmbedded({ dataDir: `${folder}/data`, port: 0, settings });
  const pooler = await startPooler(server, folder);
  return {
    ...{ server, pooler },
    async [Symbol.asyncDispose]() {
      await pooler[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}

/** Asks a server itself. */
async function asked(url: string, text: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1 });
  try {
    return [...await sql.unsafe(text)];
  } finally {
    await sql.end();
  }
}

function optionsOf({ services, database }: TestRealm) {
  const { migrations } = services.provisioning;
  return { database, migrations, secrets: services.secrets };
}

/** Between two requests of a client: more of them would take the processors from the move. */
const PAUSE_MS = 20;

/** Posts until it is stopped; gives the number of transfers that were answered. */
function load(realm: TestRealm, from: string, to: string, clients: number) {
  let [acknowledged, running] = [0, true];
  const others = new Set<number>();
  const body = { source: { account: from }, destination: { account: to }, value: "1" };
  const loops = Array.from({ length: clients }, async () => {
    for (let key = crypto.randomUUID(); running;) {
      const { status } = await realm.admin.send("POST", "/v1/transactions", body, {
        "idempotency-key": key,
      });
      if (status === 201) [acknowledged, key] = [acknowledged + 1, crypto.randomUUID()];
      else others.add(status);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
  return async () => {
    running = false;
    await Promise.all(loops);
    return { acknowledged, others: [...others] };
  };
}

Deno.test({
  name:
    "a realm moves under load between two servers behind poolers in transaction mode, and back after a pooler was killed",
  ignore: POOLER === null, // the package `pgbouncer` is not installed
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "purser-pooled-moves-" });
    await Deno.chmod(root, 0o755);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(root, { recursive: true }));
    const here = stack.use(await startPooled(`${root}/here`));
    const there = stack.use(await startPooled(`${root}/there`));
    const env = { DATABASE_URL: here.pooler.url, DATABASE_PREPARE: "off" };
    await using realm = await testRealm({ env });
    const { account: source } = await realm.currency("1000000000", "GOLD");
    const target = await realm.account({ asset: "GOLD" });
    const options = optionsOf(realm);
    const move = (to?: string | null) => orderMove(options, { realm: realm.id, to }, Date.now());
    const stop = load(realm, source, target, 6);
    await carryOn(options, await move(there.pooler.url));
    await dropOld(options, realm.id);
    // Each pooler is killed in a round; what stops is carried on.
    const killed = new Map<string, Promise<void>>();
    const onStep = (step: string) => {
      const pooler = { prepared: there.pooler, fenced: here.pooler }[step];
      if (pooler !== undefined && !killed.has(step)) killed.set(step, pooler.kill());
    };
    let [carried, ended] = [await move(null), false];
    while (!ended) {
      ended = await carryOn({ ...options, onStep }, carried).then(() => true, () => false);
      await Promise.all(killed.values());
      if (!ended) carried = await move();
    }
    equal(killed.size, 2);
    const { acknowledged, others } = await stop();
    ok(acknowledged > 0);
    ok(others.every((status) => status === 503), `${others}`);
    const { total } = await realm.balance(target);
    ok(Number(total) >= acknowledged && Number(total) <= acknowledged + 12, total);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
});

Deno.test({
  name:
    "a target behind a pooler that keeps no settings of sessions is refused before anything is changed",
  ignore: POOLER === null, // the package `pgbouncer` is not installed
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "purser-pooled-moves-" });
    await Deno.chmod(root, 0o755);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(root, { recursive: true }));
    const there = stack.use(await startPooled(`${root}/there`));
    const ignoring = stack.use(
      await startPooler(there.server, `${root}/there`, {
        ignore_startup_parameters: "search_path,statement_timeout,TimeZone,role,options",
      }),
    );
    await using realm = await testRealm();
    const options = optionsOf(realm);
    // Of this realm alone: others of the database may move.
    const triggers = `select tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
      where relnamespace = current_schema()::regnamespace and tgname like 'move%'`;
    const schemas = `select nspname from pg_namespace where nspname like 'realm\\_%'`;
    for (const { url } of [there.pooler, ignoring]) {
      const move = await orderMove(options, { realm: realm.id, to: url }, Date.now());
      await rejects(carryOn(options, move), {
        code: "request.invalid",
        message: /a pooler in transaction mode.* DATABASE_PREPARE=off.* the server itself/,
      });
      deepEqual(await asked(there.server.url, schemas), []);
      deepEqual(await rowsOf(realm, triggers), []);
      await cancel(options, await orderMove(options, { realm: realm.id, cancels: true }, 0));
    }
  },
});
