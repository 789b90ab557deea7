/**
 * How many statements one transaction of several withdrawals takes, whatever it pays: from its plan to its end, and
 * where it pays nobody.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, paidOnce, type Queue, queue, statesOf } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { BESIDE } from "../support/statement_texts.ts";
import { COIN, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp("LTC: statements of batches of one ramp", LITECOIN, ignore);
const FEW = 3;
const MANY = 9;

interface ChainOrder {
  order: string;
  version: number;
  state: string;
}

/** Another process on a realm, whose statements are counted. */
function counted({ realm, context }: UtxoRamp) {
  let sent: string[] = [];
  const other = realm.another({}, (text) => void sent.push(text.replaceAll(/\s+/g, " ").trim()));
  const pool = other.database.working(locationOf(realm.made.realm));
  const own: WorkerContext = {
    ...context,
    pool,
    step: (work, ...how) => serializable(pool, work, ...how),
  };
  return {
    send: other.send(realm.admin.key),
    async during(work: () => Promise<unknown>): Promise<string[]> {
      const heard: string[] = sent = [];
      await work();
      sent = [];
      return heard.filter((text) => !BESIDE.test(text));
    },
    async run(order: ChainOrder): Promise<string[]> {
      const actor = { ...context.actor, at: Date.now() };
      return await this.during(() => advanceOrder({ ...own, actor }, order));
    },
    [Symbol.asyncDispose]: () => other[Symbol.asyncDispose](),
  };
}

/** The newest batch. */
async function batchOf({ realm }: UtxoRamp): Promise<ChainOrder> {
  const [row] = await rowsOf<ChainOrder & Record<string, unknown>>(
    realm,
    `select id as order, schedule_version as version, state from chain_orders where purpose = 'batch'
      order by id desc limit 1`,
  );
  return row;
}

async function first({ realm }: UtxoRamp, { ids }: Queue): Promise<ChainOrder> {
  const [row] = await rowsOf<ChainOrder & Record<string, unknown>>(
    realm,
    `select id as order, schedule_version as version, state from chain_orders
      where reference_id = '${ids[0]}'`,
  );
  return row;
}

/** Withdrawals of a virtual account, whose charges come back where they are not paid. */
async function queueOf(
  funded: UtxoRamp,
  count: number,
  account = funded.virtual,
): Promise<Queue> {
  const queued = await queue(funded, LITECOIN, count, { source: { account } });
  await rowsOf(funded.realm, "delete from jobs"); // the test names the worker that goes on
  return queued;
}

/** Gives a ramp coins, and its virtual account a deposit. */
async function endow(funded: UtxoRamp): Promise<void> {
  await funded.fund(20n * COIN, 20n * COIN);
  await funded.deposit(10n * COIN);
  const swept = "select from chain_orders where purpose = 'sweep' and state = 'done'";
  await funded.until(async () => (await rowsOf(funded.realm, swept)).length > 0);
}

/** The statements of each run of a batch, with the state that it left, until it is done. */
async function played(
  funded: UtxoRamp,
  process: ReturnType<typeof counted>,
  count: number,
): Promise<[string, string[]][]> {
  const queued = await queueOf(funded, count);
  const runs: [string, string[]][] = [["plan", await process.run(await first(funded, queued))]];
  equal((await statesOf(funded, queued.ids)).join(), Array(count).fill("batched").join());
  let batch = await batchOf(funded);
  for (let round = 0; batch.state !== "done" && round < 9; round++) {
    const sent = await process.run(batch);
    batch = await batchOf(funded);
    runs.push([batch.state, sent]);
    await funded.node.mine();
  }
  await paidOnce(funded, queued);
  return runs;
}

testCoins(
  "LTC: a transaction of nine withdrawals is planned, sent, seen in a block and booked by as many statements as one of three",
  async (funded) => {
    await endow(funded);
    await using process = counted(funded);
    await played(funded, process, 2); // connections and caches
    const few = await played(funded, process, FEW);
    const many = await played(funded, process, MANY);
    deepEqual(many.map(([state]) => state), ["plan", "sent", "mined", "done"]);
    deepEqual(few.map(([state]) => state), many.map(([state]) => state));
    for (const [at, [state, sent]] of many.entries()) {
      equal(sent.length, few[at][1].length, `${state}\n${sent.join("\n")}`);
    }
    await funded.agree();
  },
);

/** The statements of the run that ends a batch whose coin another transaction has taken. */
async function robbed(
  funded: UtxoRamp,
  process: ReturnType<typeof counted>,
  count: number,
): Promise<string[]> {
  const { ids } = await queueOf(funded, count);
  await funded.advance();
  await funded.advance();
  const [{ input }] = await rowsOf<{ input: string }>(
    funded.realm,
    "select input from reserved_inputs",
  );
  await funded.rob((await newParty("LITECOIN")).address, input);
  await funded.release();
  await funded.node.mine();
  const sent = await process.run(await batchOf(funded));
  equal((await batchOf(funded)).state, "dropped");
  for (const id of ids) equal((await funded.withdrawal(id)).status, "FAILED");
  return sent;
}

testCoins(
  "LTC: a transaction of nine withdrawals that pays nobody gives all back by as many statements as one of three",
  async (funded) => {
    await endow(funded);
    await using process = counted(funded);
    const { balance } = await funded.account(funded.virtual);
    await robbed(funded, process, 2);
    await funded.fund(20n * COIN, 20n * COIN);
    const few = await robbed(funded, process, FEW);
    await funded.fund(20n * COIN, 20n * COIN);
    const many = await robbed(funded, process, MANY);
    equal(many.length, few.length, many.join("\n"));
    deepEqual((await funded.account(funded.virtual)).balance, balance);
    const { count } = (await rowsOf<{ count: number }>(
      funded.realm,
      "select count(*)::integer as count from transactions where type = 'return'",
    ))[0];
    equal(count, 2 + FEW + MANY, "each charge came back once");
  },
);

testCoins(
  "LTC: a canceled withdrawal dissolves a batch of nine by as many statements as one of three",
  async (funded) => {
    await endow(funded);
    await using process = counted(funded);
    const sent: string[][] = [];
    for (const count of [2, FEW, MANY]) {
      const queued = await queueOf(funded, count);
      await crashAt(funded, "planned");
      await rowsOf(funded.realm, "delete from jobs");
      sent.push(
        await process.during(async () => {
          const { status, text } = await process.send(
            "POST",
            `/v1/withdrawals/${queued.ids[1]}/cancel`,
          );
          equal(status, 200, text);
        }),
      );
      const rest = queued.ids.filter((_, at) => at !== 1);
      equal((await statesOf(funded, rest)).join(), rest.map(() => "new").join());
      ok((await funded.ended(rest)).every(({ status }) => status === "DONE"));
    }
    const [, few, many] = sent;
    equal(many.length, few.length, many.join("\n"));
    await funded.agree();
  },
);
