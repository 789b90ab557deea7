/** Moves of a realm between two PostgreSQL servers, under load and with movers that are killed. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { selectPlace } from "../../db/realm_places.ts";
import { reading } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { cancel, carryOn, dropOld } from "../../workers/moves/moving.ts";
import type { MoveOptions } from "../../workers/moves/move.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { server } from "../backup/shared_server.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { killedMover } from "../support/mover.ts";
import { PLATFORM_KEY, type Send, type TestRealm, testRealm } from "../support/realm.ts";

/** Between two requests of a client: more of them would take the processors from the move. */
const PAUSE_MS = 20;

/** A load of transfers: each is acknowledged or not; what else is answered is told. */
interface Load {
  stop(): Promise<{ acknowledged: number; others: Map<number, number> }>;
}

function load(sends: readonly Send[], from: string, to: string): Load {
  let acknowledged = 0;
  let running = true;
  const others = new Map<number, number>();
  const body = {
    source: { account: from },
    destination: { account: to },
    value: "1",
  };
  const loops = sends.map(async (send) => {
    for (let key = crypto.randomUUID(); running;) {
      const { status } = await send("POST", "/v1/transactions", body, {
        "idempotency-key": key,
      });
      if (status === 201) {
        acknowledged++;
        key = crypto.randomUUID();
      } else others.set(status, (others.get(status) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
  return {
    async stop() {
      running = false;
      await Promise.all(loops);
      return { acknowledged, others };
    },
  };
}

function optionsOf({ services, database }: TestRealm): MoveOptions & {
  secrets: TestRealm["services"]["secrets"];
} {
  return {
    database,
    migrations: services.provisioning.migrations,
    secrets: services.secrets,
  };
}

async function numberOfPlace(realm: TestRealm): Promise<number> {
  return (await reading(
    realm.database.platform,
    (db) => selectPlace(db, realm.id),
  ))!.location
    .place;
}

Deno.test("a realm moves to another server under load: nothing is lost, posted twice or answered 500", async () => {
  await using realm = await testRealm();
  await using second = realm.another();
  const { account: source } = await realm.currency("1000000000", "GOLD");
  const target = await realm.account({ asset: "GOLD" });
  const user = await realm.user();
  const key = crypto.randomUUID();
  const body = {
    source: { account: source },
    destination: { account: target },
    value: "7",
  };
  const before = await realm.admin.send("POST", "/v1/transactions", body, {
    "idempotency-key": key,
  });
  equal(before.status, 201);
  const busy = load(
    Array.from(
      { length: 8 },
      (_, n) => n % 2 ? realm.admin.send : second.send(realm.admin.key),
    ),
    source,
    target,
  );
  const options = optionsOf(realm);
  const to = await server.database();
  let [revoked, comparedAt] = [0, Infinity];
  const report = await carryOn({
    ...options,
    async onStep(step) {
      if (step !== "compared") return;
      // A key that is revoked just before the switch stays revoked after it.
      revoked = (await user.send("POST", "/v1/auth/logout")).status;
      comparedAt = performance.now();
    },
  }, await orderMove(options, { realm: realm.id, to }, Date.now()));
  const longest = Math.ceil(performance.now() - comparedAt);
  const { acknowledged, others } = await busy.stop();
  ok(report.pauseMs !== null && report.pauseMs <= longest, `${report.pauseMs} of ${longest}`);
  ok(
    [...others.keys()].every((status) => status === 503),
    JSON.stringify([...others]),
  );
  equal(await numberOfPlace(realm), 1);
  const { total } = await realm.balance(target);
  ok(
    Number(total) >= acknowledged + 7 && Number(total) <= acknowledged + 7 + 8,
    `${total} ${acknowledged}`,
  );
  equal(revoked, 200);
  equal((await user.send("GET", "/v1/accounts")).status, 401);
  equal((await second.send(user.key)("GET", "/v1/accounts")).status, 401);
  const again = await second.send(realm.admin.key)(
    "POST",
    "/v1/transactions",
    body,
    {
      "idempotency-key": key,
    },
  );
  equal(again.body.id, before.body.id);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  equal(new URL(to).port, `${realm.pool.sql.options.port}`);
});

Deno.test("a mover that is killed at any step is carried on by the next", async () => {
  await using realm = await testRealm();
  const { account: source } = await realm.currency("1000000", "GOLD");
  const target = await realm.account({
    asset: "GOLD",
    from: source,
    total: "5",
  });
  const steps = [
    "copying",
    "prepared",
    "loaded",
    "compared",
    "fencing",
    "fenced",
    "complete",
    "left",
    "opened",
    "switched",
  ];
  const to = await server.database();
  let posted = 5;
  for (const step of steps) {
    const by = { url: testDatabaseUrl(), platformKey: PLATFORM_KEY };
    const signal = await killedMover({ realm: realm.id, to, step, ...by });
    equal(signal, "SIGKILL", step);
    if (["fenced", "complete", "left", "opened"].includes(step)) continue; // a write would wait until the move goes on
    const body = {
      source: { account: source },
      destination: { account: target },
      value: "1",
    };
    equal(
      (await realm.admin.send("POST", "/v1/transactions", body)).status,
      201,
      step,
    );
    posted++;
  }
  equal(await numberOfPlace(realm), 1);
  const options = optionsOf(realm);
  await carryOn(
    options,
    await orderMove(options, { realm: realm.id }, Date.now()),
  );
  equal((await realm.balance(target)).total, `${posted}`);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a move is refused to a database that holds the realm's schema, another installation, or the realm itself", async () => {
  await using realm = await testRealm();
  const options = optionsOf(realm);
  const other = await server.database();
  const move = async (to: string) =>
    await carryOn(
      options,
      await orderMove(options, { realm: realm.id, to }, Date.now()),
    );
  await rejects(move(testDatabaseUrl()), {
    code: "request.invalid",
    message: /is in use/,
  });
  await cancelMove(realm);
  const sql = asOwner(other);
  try {
    await sql.unsafe(`create schema "${realm.made.realm.schema_name}"`);
    await rejects(move(other), {
      code: "request.invalid",
      message: /is in use/,
    });
    await cancelMove(realm);
    const [{ there }] = await sql`
      select to_regnamespace(${realm.made.realm.schema_name}) is not null as there`;
    equal(there, true); // a cancel drops only what the move has made
    await sql.unsafe(
      `create schema platform; create table platform.installation (id uuid);
      insert into platform.installation values (gen_random_uuid())`,
    );
    await rejects(move(other), {
      code: "request.invalid",
      message: /another installation/,
    });
    await sql.unsafe("drop schema platform cascade");
    await rejects(
      orderMove(options, { realm: realm.id, to: `${other}_2` }, Date.now()),
      { code: "request.invalid", message: /under way/ },
    );
    await cancelMove(realm);
  } finally {
    await sql.end();
  }
  await rejects(orderMove(options, { realm: realm.id }, Date.now()), {
    message: /no move/,
  });
  const { account } = await realm.currency("10", "GOLD");
  equal((await realm.balance(account)).total, "10");
});

/** A connection to a database as its owner. */
function asOwner(url: string) {
  return postgres(url, { max: 1, onnotice: () => {} });
}

async function cancelMove(realm: TestRealm): Promise<void> {
  const options = optionsOf(realm);
  await cancel(
    options,
    await orderMove(options, { realm: realm.id }, Date.now()),
  );
}

Deno.test("the old place of a realm takes no write and shows nothing, whoever asks, and a move that fails leaves it open", async () => {
  await using realm = await testRealm();
  const options = optionsOf(realm);
  const { account } = await realm.currency("10", "GOLD");
  const failing = {
    ...options,
    onStep(step: string) {
      if (step === "complete") throw new Error("the target is gone");
    },
  };
  const order = { realm: realm.id, to: await server.database() };
  await rejects(
    async () => await carryOn(failing, await orderMove(options, order, Date.now())),
    {
      message: "the target is gone",
    },
  );
  equal(await numberOfPlace(realm), 0);
  await realm.account({ asset: "GOLD", from: account, total: "3" }); // it works where it was
  // A pool that knows the old place alone, as that of a process that slept through the move.
  await using sleeper = realm.another();
  equal(
    (await sleeper.send(realm.admin.key)("GET", "/v1/accounts")).status,
    200,
  );
  await carryOn(options, await orderMove(options, order, Date.now()));
  equal((await realm.balance(account)).total, "7");
  equal(
    (await sleeper.send(realm.admin.key)("GET", `/v1/accounts/${account}`)).body
      .balance.total,
    "7",
  );
  const { schema_name: schema, role_name: role } = realm.made.realm;
  const sql = asOwner(testDatabaseUrl());
  try {
    for (
      const text of [
        `update ${schema}.accounts set error = null`,
        `delete from ${schema}.jobs`,
      ]
    ) {
      await rejects(sql.unsafe(text), { code: "PMV01" }); // also with the owner's rights
    }
    await rejects(
      sql.begin((tx) => tx.unsafe(`set local role ${role}; select id from ${schema}.accounts`)),
      { code: "42501" },
    );
    await dropOld(options, realm.id);
    await rejects(sql.unsafe(`select id from ${schema}.accounts`), {
      code: "42P01",
    });
    await rejects(dropOld(options, realm.id), { code: "request.invalid" });
  } finally {
    await sql.end();
  }
  equal((await realm.balance(account)).total, "7");
});
