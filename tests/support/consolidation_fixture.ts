/**
 * A funded ramp on a coin chain whose ramp consolidates its small coins, step by step.
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { fromUnits } from "../../domain/money.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { openUtxoRamp, type UtxoChain, type UtxoRamp } from "./utxo_fixture.ts";
import { openTestPoller } from "./scan_steps.ts";
import { type Answer, rowsOf } from "./realm.ts";

/** A funded ramp with what consolidations need beside. */
export interface ConsolidatingRamp extends UtxoRamp {
  /** The locking script of the ramp's address. */
  readonly script: string;
  /** Asks for a consolidation. */
  consolidate(body?: Record<string, unknown>, query?: string): Promise<Answer>;
  /** Reads a consolidation. */
  read(id: string): Promise<Answer["body"]>;
  /** Mines and polls the chain, without running any order. */
  mine(blocks?: number): Promise<void>;
  /** Runs orders and mines until a consolidation has ended. */
  finish(id: string): Promise<Answer["body"]>;
  /** Lists what the ramp's address holds, in base units. */
  coins(): Promise<bigint[]>;
  /** Compares chain and ledger, and gives what `GET /v1/solvency` says then. */
  solvency(): Promise<Answer["body"]>;
}

const ROUNDS = 30;

/** Makes a funded ramp. */
export async function openConsolidatingRamp(utxo: UtxoChain): Promise<ConsolidatingRamp> {
  return await consolidating(utxo, await openUtxoRamp(utxo));
}

/** Gives a funded ramp what consolidations need beside. */
export async function consolidating(
  utxo: UtxoChain,
  funded: UtxoRamp,
): Promise<ConsolidatingRamp> {
  const { node, realm, ramp, context, advance } = funded;
  const { send } = realm.admin;
  const script = (await scriptOf(utxo.id, "regtest", funded.address)).toHex();
  const poller = openTestPoller(realm);
  async function mine(blocks = 1): Promise<void> {
    await node.mine(blocks);
    await poller.advance();
  }
  const read = async (id: string) =>
    (await send("GET", `/v1/accounts/${ramp}/consolidations/${id}`)).body;
  await funded.quote();
  return {
    ...funded,
    script,
    mine,
    read,
    consolidate: (body = {}, query = "") =>
      send("POST", `/v1/accounts/${ramp}/consolidate${query}`, body),
    async finish(id) {
      for (let round = 0; round < ROUNDS; round++) {
        await advance();
        const row = await read(id);
        if (row.status !== "PROCESSING") return row;
        await mine();
      }
      const orders = await rowsOf(realm, "select purpose, state, error from chain_orders");
      throw new Error(`it does not end: ${JSON.stringify(orders)}`);
    },
    coins: () => funded.held(funded.address),
    async solvency() {
      await checkSolvency(context);
      return (await send("GET", "/v1/solvency")).body[0];
    },
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      await funded[Symbol.asyncDispose]();
    },
  };
}

/** A ramp whose consolidation was asked for. */
export interface Consolidation extends ConsolidatingRamp {
  readonly id: string;
  /** Signs it, sends it and mines it. Gives its transaction. */
  minedOnce(): Promise<Answer["body"]>;
}

/** Makes a ramp that has coins, and asks for their consolidation. */
export async function openConsolidation(
  utxo: UtxoChain,
  ...amounts: readonly bigint[]
): Promise<Consolidation> {
  return await beginConsolidation(await openConsolidatingRamp(utxo), ...amounts);
}

/** Pays coins to a ramp, and asks for their consolidation. */
export async function beginConsolidation(
  fixture: ConsolidatingRamp,
  ...amounts: readonly bigint[]
): Promise<Consolidation> {
  await fixture.fund(...amounts);
  const { body: { id } } = await fixture.consolidate();
  return {
    ...fixture,
    id,
    async minedOnce() {
      await fixture.advance();
      await fixture.mine();
      await fixture.advance();
      const { chain } = await fixture.read(id);
      equal(chain.confirmations, 1);
      return chain;
    },
  };
}

/** Gives what the house has earned, or borne, in whole units. */
export async function feesOf({ realm }: ConsolidatingRamp): Promise<string> {
  const text = "select trim_scale(total)::text as total from accounts where system = 'fees'";
  return (await rowsOf<{ total: string }>(realm, text))[0]?.total ?? "0";
}

/** Makes sure that ledger, chain and their comparison are the same to the last base unit. */
export async function agrees(fixture: ConsolidatingRamp): Promise<void> {
  await fixture.agree();
  const owned = await rowsOf<{ address: string }>(fixture.realm, "select address from addresses");
  let held = 0n;
  for (const { address } of owned) for (const one of await fixture.held(address)) held += one;
  const { drift, assets } = await fixture.solvency();
  deepEqual({ drift, assets }, { drift: "0", assets: fromUnits(held, 8) });
}

/** Makes sure that one transaction was made of each, it left one coin, and its fee was booked once. */
export async function consolidatedOnce(fixture: ConsolidatingRamp): Promise<void> {
  const { realm, ramp } = fixture;
  equal((await fixture.coins()).length, 1);
  deepEqual(await rowsOf(realm, "select input from reserved_inputs"), []);
  const orders = await rowsOf<{ hashes: number }>(
    realm,
    `select count(c.hash)::integer as hashes from chain_orders o join order_attempts c
      on c.order_id = o.id where o.purpose = 'consolidation' and o.ramp = $1 group by o.id`,
    [ramp],
  );
  ok(orders.every(({ hashes }) => hashes === 1));
  const fees = await rowsOf(
    realm,
    `select t.id from transactions t join transaction_data d on d.transaction = t.id
      join chain_orders o on o.id::text = d.data ->> 'order' where t.type = 'fee' and o.ramp = $1`,
    [ramp],
  );
  equal(fees.length, orders.length);
  await agrees(fixture);
}
