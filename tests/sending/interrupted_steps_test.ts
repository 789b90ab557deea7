/**
 * Turns that nobody asks for by hand (gas sent ahead, a deployment, a child that pays for its parent, a
 * payment out of change that no block has yet): a process that was stopped in one of them and goes on
 * after another has taken its place, or a copy of the database that starts beside, signs and sends
 * nothing twice.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { openFence } from "../../workers/installation/fence.ts";
import { sweepJob } from "../../workers/sweeping/sweeps.ts";
import type { Checkpoint, OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import type { Anvil } from "../support/nodes/anvil.ts";
import { COIN, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { openFundedRamp, workerContextOf } from "../support/evm_fixture.ts";
import { backups } from "../support/installation.ts";
import { hasLitecoind, LIKE_DOGECOIN, startLitecoind } from "../support/nodes/litecoind.ts";
import { SOON } from "../support/own_token.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ETHER = 10n ** 18n;
const TOKEN = {
  name: "Gold",
  symbol: "GOLD",
  supply: "1000",
  decimal_places: 6,
};

/** Before a plan, before its bytes, before and after they leave, and before the end is booked. */
const STOPS: readonly Checkpoint[] = [
  "drafted",
  "signed",
  "sending",
  "seen",
  "ending",
];

/** Where orders of a kind are carried out. */
interface Scene extends AsyncDisposable {
  realm: TestRealm;
  context: WorkerContext;
  /** Has one more order that is about to be carried out. */
  begin(): Promise<void>;
  /** Orders of the turn; the child's is made in its parent's. */
  purpose: string;
  mine(): Promise<void>;
  /** How many transactions the sender has made, where the chain counts them. */
  made(): Promise<number | null>;
  /** Demands that chain and ledger agree at the end. */
  agree(): Promise<void>;
}

/** Settings of the installation of a scene. */
type Env = Record<string, string>;

const SCENES: Readonly<Record<string, (env: Env) => Promise<Scene>>> = {
  "a deployment": async (env) => {
    const funded = await openFundedRamp({ env });
    const { anvil, realm, context, address, ramp } = funded;
    let asked = 0;
    return {
      ...{ realm, context, purpose: "deploy" },
      begin: async () => {
        const n = ++asked;
        const token = { ...TOKEN, name: `Gold ${n}`, symbol: `GOLD${n}`, account: ramp };
        const path = "/v1/fungible/token/deploy";
        const answer = await realm.admin.send("POST", path, token, SOON);
        equal(answer.status, 201, answer.text);
      },
      mine: () => anvil.mine(),
      made: () => countOf(anvil, address),
      agree: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => funded[Symbol.asyncDispose](),
    };
  },
  "gas that is sent ahead": async (env) => {
    const fixture = await openRampFixture({ testnet: false, env });
    const { anvil, realm, poller } = fixture;
    const token = await installToken(anvil, "USDC");
    const ramp = await fixture.ramp("USDC");
    await anvil.send({ to: ramp.address, value: ETHER });
    const context = await workerContextOf(realm);
    return {
      ...{ realm, context, purpose: "gas" },
      begin: async () => {
        const deposit = await fixture.address(ramp.id);
        await token.pay(deposit.address, 25_000_000n);
        await anvil.mine(3);
        await poller.advance();
        await poller.advance();
        await sweepJob(context, { account: deposit.id });
      },
      mine: () => anvil.mine(),
      made: () => countOf(anvil, ramp.address),
      agree: () => Promise.resolve(),
      [Symbol.asyncDispose]: async () => {
        context.chains.close();
        await fixture[Symbol.asyncDispose]();
      },
    };
  },
};

const COIN_SCENES: typeof SCENES = {
  "a child that pays for its parent": async (env) => {
    const start = () => startLitecoind(...LIKE_DOGECOIN, "-blockmintxfee=0.015", "-paytxfee=0.02");
    const funded = await openUtxoRamp({ id: "DOGECOIN", asset: "DOGE", start, env });
    const { realm } = funded;
    const sent = "select 1 from chain_orders where purpose = 'sweep' and state = 'sent'";
    const aged = "update chain_orders set created_at = created_at - interval '20 minutes'";
    return coinScene(funded, "cpfp", async () => {
      await funded.deposit(20n * COIN);
      await funded.until(async () => (await rowsOf(realm, sent)).length > 0);
      await rowsOf(realm, `${aged} where state = 'sent'`);
    });
  },
  "a payment out of change that no block has": async (env) => {
    const funded = await openUtxoRamp({ ...LITECOIN, env });
    await funded.deposit(20n * COIN);
    const paid = async () => (await funded.account(funded.virtual)).balance.total !== "0";
    await funded.until(paid);
    const { address } = await newParty("LITECOIN");
    return coinScene(funded, "withdrawal", async () => {
      await funded.node.mine(2);
      await funded.follow();
      await funded.quote();
      await funded.withdraw(address, "1");
      await funded.advance();
      await funded.withdraw(address, "2");
    });
  },
};

async function countOf(anvil: Anvil, address: string): Promise<number> {
  return Number(await anvil.rpc<string>("eth_getTransactionCount", address, "latest"));
}

function coinScene(
  funded: Awaited<ReturnType<typeof openUtxoRamp>>,
  purpose: string,
  begin: () => Promise<void>,
): Scene {
  return {
    ...{ realm: funded.realm, context: funded.context, purpose, begin },
    mine: async () => void await funded.node.mine(),
    made: () => Promise.resolve(null),
    agree: async () => {
      await funded.node.mine(3);
      await funded.follow();
      await funded.agree();
    },
    [Symbol.asyncDispose]: () => funded[Symbol.asyncDispose](),
  };
}

/** Runs all open orders, now. */
async function advance(
  scene: Scene,
  context = scene.context,
  onCheckpoint?: OnCheckpoint,
): Promise<void> {
  const orders = await rowsOf<{ order: string; version: number }>(
    scene.realm,
    `select id as order, schedule_version as version from chain_orders
      where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
  );
  const at = Date.now();
  const now = { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
  for (const seen of orders) await advanceOrder(now, seen, onCheckpoint);
}

const openOrders = async ({ realm }: Scene) =>
  (await rowsOf(
    realm,
    "select 1 from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')",
  )).length;

/** Has a process stop at a step, another carry all orders to their end, and the first go on. */
async function resumed(scene: Scene, step: Checkpoint): Promise<boolean> {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let held = false;
  const stopped = advance(scene, scene.context, async (passed) => {
    if (held || passed !== step) return;
    held = true;
    reached.resolve();
    await released.promise;
  });
  await Promise.race([stopped, reached.promise]);
  if (!held) return false;
  for (let round = 0; round < 20 && await openOrders(scene) > 0; round++) {
    await advance(scene);
    await scene.mine();
  }
  equal(await openOrders(scene), 0, "the other process ends all of them");
  released.resolve();
  await stopped;
  return true;
}

async function once(scene: Scene): Promise<void> {
  const rows = await rowsOf<{ purpose: string; state: string; made: number }>(
    scene.realm,
    `select o.purpose, o.state, count(distinct c.hash)::integer as made
      from chain_orders o join order_attempts c on c.order_id = o.id
      where o.state <> 'batched' group by o.id order by o.id`,
  );
  ok(
    rows.some(({ purpose }) => purpose === scene.purpose),
    JSON.stringify(rows),
  );
  for (const { state, made } of rows) {
    deepEqual([state, made], ["done", 1], JSON.stringify(rows));
  }
  const made = await scene.made();
  const orders = rows.filter(({ purpose }) => purpose === scene.purpose).length;
  if (made !== null) equal(made, orders, "as many transactions as orders");
  await scene.agree();
}

for (
  const [name, open, ignore] of [
    ...Object.entries(SCENES).map(([name, open]) => [name, open, false] as const),
    ...Object.entries(COIN_SCENES).map(([name, open]) => [name, open, !hasLitecoind()] as const),
  ]
) {
  Deno.test({
    name:
      `a process that was stopped in ${name} and goes on when another has taken its place does nothing twice`,
    ignore,
    fn: async (t) => {
      await using scene = await open({});
      for (const step of STOPS) {
        await t.step(`stopped at "${step}"`, async () => {
          await scene.begin();
          let stopped = await resumed(scene, step);
          for (let round = 0; !stopped && round < 6 && await openOrders(scene) > 0; round++) {
            await scene.mine();
            stopped = await resumed(scene, step);
          }
          ok(stopped, `nobody passed ${step}`);
          await once(scene);
        });
      }
    },
  });

  Deno.test({
    name: `a copy of the database that starts beside signs and sends nothing of ${name}`,
    ignore,
    fn: async () => {
      await using own = await backups();
      const dataDir = await Deno.makeTempDir({ prefix: "purser-epoch-" });
      const elsewhere = await Deno.makeTempDir({ prefix: "purser-epoch-" });
      await using scene = await open({ DATABASE_URL: own.url });
      await scene.begin();
      const key = scene.realm.services.config.masterKey!;
      const { id: master } = await readMasterKey(key);
      const fenceOf = (url: string, folder: string) => {
        const database = openDatabase({
          url,
          prepare: true,
          parseJson: JSON.parse,
        });
        const options = {
          dataDir: folder,
          label: null,
          master,
          log: () => {},
          loop: false,
        };
        return openFence({ ...options, platform: database.platform })
          .then((fence) => ({ database, fence }));
      };
      const original = await fenceOf(own.url, dataDir);
      const clone = await own.copy();
      const copied = await fenceOf(clone, elsewhere);
      try {
        match((await copied.fence.fault())!, /restored or copied/);
        const { realm, context } = scene;
        const place = realm.id;
        const pool = copied.database.working(
          (await realm.services.realms.find(place))!.location,
        );
        const signer = openSigner(key, Date.now, copied.fence);
        const beside = {
          ...{ ...context, pool, signer },
          step: ((run, ...how) => serializable(pool, run, ...how)) as WorkerContext["step"],
        };
        const signedIn = async () =>
          (await reading(
            pool,
            (db) => db`select 1 from order_attempts where raw is not null`,
          ))
            .length;
        const [before, signed] = [await scene.made(), await signedIn()];
        for (let round = 0; round < 3; round++) await advance(scene, beside);
        await scene.mine();
        equal(await scene.made(), before);
        equal(await signedIn(), signed);
        equal(await original.fence.fault(), null);
        for (
          let round = 0;
          round < 20 && await openOrders(scene) > 0;
          round++
        ) {
          await advance(scene);
          await scene.mine();
        }
        await once(scene);
      } finally {
        for (const { fence, database } of [original, copied]) {
          await fence.close();
          await database.close();
        }
        for (const folder of [dataDir, elsewhere]) {
          await Deno.remove(folder, { recursive: true });
        }
      }
    },
  });
}
