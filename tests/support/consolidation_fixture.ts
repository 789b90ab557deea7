/**
 * A desk on a coin chain whose ramp gathers its small coins, step by step.
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { fromUnits } from "../../domain/money.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { type CoinDesk, openCoinDesk, type Play } from "./utxo_fixture.ts";
import { testFollower } from "./scan_steps.ts";
import { type Answer, rowsOf } from "./realm.ts";

/** A desk with what consolidations need beside. */
export interface CoinRamp extends CoinDesk {
  /** What the ramp's address locks coins by. */
  readonly script: string;
  /** Asks for a consolidation. */
  consolidate(body?: Record<string, unknown>, query?: string): Promise<Answer>;
  /** Reads a consolidation. */
  read(id: string): Promise<Answer["body"]>;
  /** Mines and looks at the chain, not at any order. */
  mine(blocks?: number): Promise<void>;
  /** Looks at orders and mines until a consolidation has ended. */
  finish(id: string): Promise<Answer["body"]>;
  /** Lists what the ramp's address holds, in base units. */
  coins(): Promise<bigint[]>;
  /** Compares chain and ledger, and gives what `GET /v1/solvency` says then. */
  solvency(): Promise<Answer["body"]>;
}

const ROUNDS = 30;

/** Makes a desk. */
export async function coinRamp(play: Play): Promise<CoinRamp> {
  const desk = await openCoinDesk(play);
  const { node, realm, ramp, context, look } = desk;
  const { send } = realm.admin;
  const script = (await scriptOf(play.id, "regtest", desk.address)).toHex();
  const follower = testFollower(realm);
  async function mine(blocks = 1): Promise<void> {
    await node.mine(blocks);
    await follower.look();
  }
  const read = async (id: string) =>
    (await send("GET", `/v1/accounts/${ramp}/consolidations/${id}`)).body;
  await desk.quote();
  return {
    ...desk,
    script,
    mine,
    read,
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
    coins: () => desk.held(desk.address),
    async solvency() {
      await checkSolvency(context);
      return (await send("GET", "/v1/solvency")).body[0];
    },
    async [Symbol.asyncDispose]() {
      follower[Symbol.dispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

/** Gives what the house has earned, or borne, in whole units. */
export async function feesOf({ realm }: CoinRamp): Promise<string> {
  const text = "select trim_scale(total)::text as total from accounts where system = 'fees'";
  return (await rowsOf<{ total: string }>(realm, text))[0]?.total ?? "0";
}

/** Makes sure that ledger, chain and their comparison are the same to the last base unit. */
export async function agrees(stage: CoinRamp): Promise<void> {
  await stage.agree();
  const held = (await stage.coins()).reduce((sum, one) => sum + one, 0n);
  const { drift, assets } = await stage.solvency();
  deepEqual({ drift, assets }, { drift: "0", assets: fromUnits(held, 8) });
}

/** Makes sure that one transaction was made of each, it left one coin, and its fee was booked once. */
export async function gatheredOnce(stage: CoinRamp): Promise<void> {
  equal((await stage.coins()).length, 1);
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
