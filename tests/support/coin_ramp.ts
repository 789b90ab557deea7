/**
 * A realm with a ramp on a coin chain over a real node, whose workers a test moves step by step.
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/addresses.ts";
import { newId } from "../../domain/ids.ts";
import { add, fromUnits } from "../../domain/money.ts";
import type { Bench } from "../../workers/bench.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import { refreshFees } from "../../workers/fees.ts";
import type { Crossing } from "../../workers/order_work.ts";
import { advanceOrder } from "../../workers/sender.ts";
import { checkSolvency } from "../../workers/solvency.ts";
import { benchOf } from "./desk.ts";
import { testFollower } from "./follower.ts";
import { type CoinNode, startLitecoind } from "./litecoind.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";

/** Which chain, and who plays its node. */
export interface CoinRampOptions {
  id: CoinChainId;
  asset: string;
  start: () => Promise<CoinNode>;
  /** Further settings. */
  env?: Record<string, string>;
}

/** Litecoin on its own node. */
export const LITECOIN: CoinRampOptions = {
  id: "LITECOIN",
  asset: "LTC",
  start: () => startLitecoind(),
};

/** A ramp on a coin chain. Amounts of coins are in base units. */
export interface CoinRamp extends AsyncDisposable {
  node: CoinNode;
  realm: TestRealm;
  /** Id of the ramp account, its address and the script of that. */
  ramp: string;
  address: string;
  script: string;
  /** Pays coins of these sizes to the ramp's address, and follows until they are credited. */
  fund(sizes: readonly bigint[]): Promise<void>;
  /** Asks for a consolidation. */
  consolidate(body?: Record<string, unknown>, query?: string): Promise<Answer>;
  /** Reads a consolidation. */
  read(id: string): Promise<Answer["body"]>;
  /** Takes the looks at open orders, now; tells of each place it passes. */
  look(crossing?: Crossing): Promise<void>;
  /** Mines and follows the chain without looking at any order. */
  mine(blocks?: number): Promise<void>;
  /** Looks and mines until a consolidation has ended. */
  finish(id: string): Promise<Answer["body"]>;
  /** Prices payments at this moment. */
  quote(): Promise<void>;
  /** What the node says the ramp's address holds, smallest first. */
  held(): Promise<bigint[]>;
  /** Compares chain and ledger, and gives what `GET /v1/solvency` says then. */
  solvency(): Promise<Answer["body"]>;
  /** Gives a bench whose clock is now. */
  bench(): Bench;
}

const ROUNDS = 30;

/** Makes a realm with a ramp that is ready. */
export async function coinRamp({ id, asset, start, env }: CoinRampOptions): Promise<CoinRamp> {
  const node = await start();
  const realm = await testRealm({
    env: {
      [`${id}_TESTNET_RPC_URL`]: node.url,
      [`${id}_TESTNET_NETWORK`]: "regtest",
      [`${id}_TESTNET_CONFIRMATIONS`]: "2",
      ...env,
    },
  });
  const { send } = realm.admin;
  const made = await send("POST", "/v1/accounts", { type: "ramp", asset, testnet: true });
  if (made.status !== 201) throw new Error(made.text);
  await realm.drain();
  const ramp: string = made.body.id;
  const { address } = (await send("GET", `/v1/accounts/${ramp}`)).body.ramp;
  const script = (await scriptOf(id, "regtest", address)).toHex();
  const stage = assemble({ node, realm, ramp, address, script, still: await benchOf(realm) });
  await stage.mine();
  await stage.quote();
  return stage;
}

function assemble(
  of: Pick<CoinRamp, "node" | "realm" | "ramp" | "address" | "script"> & { still: Bench },
): CoinRamp {
  const { node, realm, ramp, script, still } = of;
  const { send } = realm.admin;
  const follower = testFollower(realm);
  const bench = (): Bench => {
    const at = Date.now();
    return { ...still, actor: { ...still.actor, at, requestId: newId(at) } };
  };
  async function mine(blocks = 1): Promise<void> {
    await node.mine(blocks);
    await follower.look();
  }
  async function look(crossing: Crossing = () => {}): Promise<void> {
    const open = "select id as order, looks as look from orders where state in " +
      "('new', 'planned', 'signed', 'sent', 'mined') order by id";
    for (const seen of await rowsOf<{ order: string; look: number }>(realm, open)) {
      await advanceOrder(bench(), seen, crossing);
    }
  }
  const read = async (id: string) =>
    (await send("GET", `/v1/accounts/${ramp}/consolidations/${id}`)).body;
  return {
    ...of,
    bench,
    mine,
    look,
    read,
    async fund(sizes) {
      await node.pay(sizes.map((amount) => ({ script, amount })));
      await node.mine(2);
      await follower.follow(2);
    },
    consolidate: (body = {}, query = "") =>
      send("POST", `/v1/accounts/${ramp}/consolidate${query}`, body),
    async finish(id) {
      for (let round = 0; round < ROUNDS; round++) {
        await look();
        const row = await read(id);
        if (row.status !== "PROCESSING") return row;
        await mine();
      }
      const orders = await rowsOf(realm, "select purpose, state, error from orders");
      throw new Error(`it does not end: ${JSON.stringify(orders)}`);
    },
    quote: () => refreshFees(bench()),
    async held() {
      const coins = await node.coins(script);
      return coins.map(({ amount }) => amount).sort((a, b) => (a < b ? -1 : 1));
    },
    async solvency() {
      await checkSolvency(bench());
      return (await send("GET", "/v1/solvency")).body[0];
    },
    async [Symbol.asyncDispose]() {
      still.chains.close();
      follower[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Reads what the books say of the asset: the ramp's account, the fees. */
export async function books({ realm }: CoinRamp): Promise<{ ramp: string; fees: string }> {
  const [row] = await rowsOf<{ ramp: string; fees: string }>(
    realm,
    `select coalesce(sum(total) filter (where type = 'ramp'), 0)::text as ramp,
      coalesce(sum(total) filter (where system = 'fees'), 0)::text as fees from accounts`,
  );
  return row;
}

/** Makes sure that ledger, chain and their comparison are the same to the last base unit. */
export async function agrees(stage: CoinRamp): Promise<void> {
  const held = (await stage.held()).reduce((sum, one) => sum + one, 0n);
  const { ramp, fees } = await books(stage);
  equal(add(ramp, fees), fromUnits(held, 8));
  const { drift, assets, solvent } = await stage.solvency();
  deepEqual({ drift, assets, solvent }, { drift: "0", assets: fromUnits(held, 8), solvent: true });
}

/** Makes sure that one transaction was made of each, it left one coin, and its fee was booked once. */
export async function gatheredOnce(stage: CoinRamp, coins = 1): Promise<void> {
  equal((await stage.held()).length, coins);
  deepEqual(await rowsOf(stage.realm, "select claim from claims"), []);
  const orders = await rowsOf<{ hashes: number }>(
    stage.realm,
    `select count(c.hash)::integer as hashes from orders o join order_candidates c
      on c.order_id = o.id where o.purpose = 'consolidation' group by o.id`,
  );
  ok(orders.every(({ hashes }) => hashes === 1));
  const fees = await rowsOf(stage.realm, "select id from transactions where type = 'fee'");
  equal(fees.length, orders.length);
  await agrees(stage);
}
