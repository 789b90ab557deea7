/** A service lives on while a node lies about one field of its answers after the other. */
import { ok } from "node:assert/strict";
import { type Life, live, makeDue, NONSENSE } from "../support/lying_life.ts";
import { type Lie, type LyingNode, startLyingNode } from "../support/lies.ts";
import { driftsOf, openRampFixture } from "../support/ramp_fixture.ts";
import { passOn, type Question } from "../support/nodes/faulty_node.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { kindOf } from "./evm/lying_chain.ts";
import { newParty } from "./evm/fixture.ts";
import { deepEqual, equal } from "node:assert/strict";
import { COIN, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { kindOf as coinKindOf } from "./bitcoin/lying_chain.ts";
import { newParty as newCoinParty } from "./bitcoin/fixture.ts";

const EVERY = parseInt(Deno.env.get("LIES_EVERY") ?? "400", 10);
const AT = parseInt(Deno.env.get("LIES_AT") ?? "0", 10);
const ETHER = 10n ** 18n;

/** Ethereum behind nodes: "l" may lie, "h" is honest. */
async function lifeOnEthereum(names: string): Promise<Life & AsyncDisposable> {
  const telling: { lie: Lie | null } = { lie: null };
  let node: LyingNode;
  const fixture = await openRampFixture({
    testnet: false,
    through: (url) => {
      const ask = async (question: Question) =>
        await passOn(url, question) as Record<string, unknown>;
      node = startLyingNode(ask, kindOf, { remember: false });
      const lying = node.lying(() => telling.lie);
      return [...names].map((name) => name === "l" ? lying : node.honest).join();
    },
  });
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const { id: ramp } = await fixture.ramp();
  const virtual = await send("POST", "/v1/accounts", { type: "virtual", asset: "ETH", ramp });
  await realm.drain();
  const { address } = await fixture.address(virtual.body.id);
  const context = await workerContextOf(realm);
  async function step(): Promise<void> {
    await anvil.mine();
    await makeDue(realm);
    await fixture.poller.follow();
  }
  await anvil.pool({ to: (await fixture.account(ramp)).ramp.address, value: 5n * ETHER });
  await anvil.pool({ to: address, value: 5n * ETHER });
  for (let at = 0; at < 10; at++) await step();
  return {
    ...{ realm, node: node!, telling, step, paid: ETHER / 10n, brings: "1" },
    deposit: () => anvil.pool({ to: address, value: ETHER }),
    async withdraw() {
      await refreshFees(context);
      const to = newParty().address;
      const made = await send("POST", "/v1/withdrawals", {
        ...{ source: { account: virtual.body.id }, destination: { address: to }, value: "0.1" },
      });
      equal(made.status, 201, made.text);
      return { id: made.body.id, to };
    },
    held: async (to) => BigInt(await anvil.rpc<string>("eth_getBalance", to, "latest")),
    agree: async () => deepEqual(await driftsOf(fixture), [["ETH", "0"]]),
    async [Symbol.asyncDispose]() {
      context.chains.close();
      await fixture[Symbol.asyncDispose]();
      await node![Symbol.asyncDispose]();
    },
  };
}

/** Litecoin behind nodes. */
async function lifeOnLitecoin(names: string): Promise<Life & AsyncDisposable> {
  const telling: { lie: Lie | null } = { lie: null };
  let node: LyingNode;
  const start = async () => {
    const real = await LITECOIN.start();
    const { origin, username, password } = new URL(real.url);
    const authorization = `Basic ${btoa(`${username}:${password}`)}`;
    const ask = async (question: Question) =>
      await passOn(origin, question, { authorization }) as Record<string, unknown>;
    node = startLyingNode(ask, coinKindOf, { remember: false });
    const lying = node.lying(() => telling.lie);
    const url = [...names].map((name) => name === "l" ? lying : node.honest).join();
    return { ...real, url };
  };
  const funded = await openUtxoRamp({ ...LITECOIN, start });
  await funded.fund(5n * COIN, 5n * COIN);
  await funded.deposit(5n * COIN);
  await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
  return {
    ...{ realm: funded.realm, node: node!, telling, paid: COIN / 10n, brings: "1" },
    async step() {
      await funded.node.mine();
      await makeDue(funded.realm);
      await funded.follow();
    },
    deposit: () => funded.deposit(COIN),
    async consolidate() {
      const { status, text } = await funded.realm.admin.send(
        "POST",
        `/v1/accounts/${funded.ramp}/consolidate`,
      );
      // There may be too few coins, or those of the last round are being consolidated.
      ok([201, 202, 409].includes(status), text);
    },
    async withdraw() {
      await funded.quote();
      const { address: to } = await newCoinParty("LITECOIN");
      return { id: await funded.withdraw(to, "0.1"), to };
    },
    held: async (to) => (await funded.held(to)).reduce((sum, one) => sum + one, 0n),
    agree: () => funded.agree(),
    async [Symbol.asyncDispose]() {
      await funded[Symbol.asyncDispose]();
      await node![Symbol.asyncDispose]();
    },
  };
}

/** One lie about each of some fields. */
function some(which: (lie: Lie) => boolean = () => true): (lie: Lie) => boolean {
  let count = 0;
  return (lie) => which(lie) && count++ % EVERY === AT;
}

for (const names of ["lh", "l"]) {
  const which = names === "l" ? (lie: Lie) => NONSENSE.has(lie.name) : undefined;
  const ignore = !hasLitecoind();

  Deno.test(`lies about any field keep nothing on an account chain from its right end (nodes ${names})`, async () => {
    await using life = await lifeOnEthereum(names);
    ok(await live(life, some(which)) > 0);
  });

  Deno.test({
    name: `lies about any field keep nothing on a coin chain from its right end (nodes ${names})`,
    ignore,
    fn: async () => {
      await using life = await lifeOnLitecoin(names);
      ok(await live(life, some(which)) > 0);
    },
  });
}
