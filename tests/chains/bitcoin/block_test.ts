/** A node cannot leave out, add or alter what a block holds. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import * as bitcoin from "bitcoinjs-lib";
import { readBlock } from "../../../workers/chains/bitcoin/block.ts";
import { COIN_TABLES, type CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { startBcash } from "../../support/nodes/bcash.ts";
import { altered, type Edit, forged, lies, throughNode } from "../../support/coin_liars.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../../support/nodes/litecoind.ts";
import type { FaultyNode } from "../../support/nodes/faulty_node.ts";
import { openUtxoFixture, type UtxoFixture } from "./fixture.ts";

const { Block, Transaction } = bitcoin;
type Transaction = InstanceType<typeof Transaction>;

const ignore = !hasLitecoind();
const CHAINS: readonly CoinChainId[] = ["LITECOIN", "BITCOIN_CASH"];
const nodes = new Map<CoinChainId, CoinNode>();

Deno.test.beforeAll(async () => {
  nodes.set("BITCOIN_CASH", await startBcash());
  if (!ignore) nodes.set("LITECOIN", await startLitecoind());
});
Deno.test.afterAll(async () => {
  for (const node of nodes.values()) await node.stop();
});

/** A block with two payments to us, and the parts for lies about it. */
interface Scene {
  readonly fixture: UtxoFixture;
  readonly height: number;
  readonly hash: string;
  readonly hex: string;
  readonly address: string;
  readonly script: string;
  /** Proxies before the node; the one that lies is named by "l". */
  readonly made: readonly FaultyNode[];
  readonly lying: FaultyNode;
}

function onNodes(
  name: string,
  chains: readonly CoinChainId[],
  among: readonly string[],
  run: (scene: Scene, among: string) => Promise<void>,
): void {
  for (const id of chains) {
    for (const letters of among) {
      Deno.test({
        name: `${name} (${id}, nodes ${letters})`,
        ignore: id === "LITECOIN" && ignore,
        fn: async () => {
          const node = nodes.get(id)!;
          await using fixture = await openUtxoFixture(id, node, { shared: true });
          const made = [...letters].map(() => throughNode(node));
          try {
            await run(
              { ...await deposits(fixture), made, lying: made[letters.indexOf("l")] },
              letters,
            );
          } finally {
            for (const one of made) await one.abort();
          }
        },
      });
    }
  }
}

async function deposits(fixture: UtxoFixture): Promise<Omit<Scene, "made" | "lying">> {
  const { address } = await fixture.party();
  await fixture.pay(address, fixture.amount);
  await fixture.pay(address, 2n * fixture.amount);
  await fixture.mine();
  const { height, hash } = await fixture.chain.head();
  await fixture.mine();
  const hex: string = await fixture.node.rpc("getblock", hash, 0);
  equal(Block.fromHex(hex).transactions!.length, 3);
  return { fixture, height, hash, hex, address, script: await fixture.script(address) };
}

function paysUs(transaction: Transaction, script: string): number {
  return transaction.outs.findIndex((output) => output.script.toHex() === script);
}

/** Changes the first transaction that pays us. */
function editing(script: string, change: (transaction: Transaction, at: number) => void): Edit {
  return (transactions) =>
    transactions.map((one) => {
      const copy = one.clone();
      const at = paysUs(copy, script);
      if (at >= 0) change(copy, at);
      return copy;
    });
}

/** A lying node's versions of a block's bytes. */
const LIES: Readonly<Record<string, (scene: Scene) => string | Promise<string>>> = {
  "leaves a deposit out": ({ hex, script }) =>
    altered(hex, (all) => {
      const gone = all.findIndex((one) => paysUs(one, script) >= 0);
      return all.filter((_, at) => at !== gone);
    }),
  "alters an amount": ({ hex, script }) =>
    altered(hex, editing(script, (one, at) => one.outs[at].value *= 1000n)),
  "alters an address": ({ hex, script }) =>
    altered(hex, editing(script, (one, at) => one.outs[at].script = new Uint8Array(22))),
  "alters a coin that is spent": ({ hex, script }) =>
    altered(hex, editing(script, (one) => one.ins[0].index ^= 1)),
  "adds a transaction": ({ hex, script }) =>
    altered(hex, (all) => {
      const more = new Transaction();
      more.addInput(new Uint8Array(32).fill(7), 0);
      more.addOutput(Uint8Array.fromHex(script), 10n ** 12n);
      return [...all, more];
    }),
  "puts transactions in another order": ({ hex }) =>
    altered(hex, ([own, one, two]) => [own, two, one]),
  "shows the last transaction twice, which the root does not tell": ({ hex }) => {
    const twice = altered(hex, (all) => [...all, all[all.length - 1]]);
    const { transactions, merkleRoot } = Block.fromHex(twice);
    deepEqual(Block.calculateMerkleRoot(transactions!), merkleRoot);
    return twice;
  },
  "shows nodes of the tree as transactions": ({ hex }) => {
    const [one, two, three] = Block.fromHex(hex).transactions!.map((each) => each.getHash());
    return `${hex.slice(0, 160)}02${[one, two, three, three].map((each) => each.toHex()).join("")}`;
  },
  "shows no transaction": ({ hex }) => `${hex.slice(0, 160)}00`,
  "gives another block": async ({ fixture, height }) =>
    await fixture.node.rpc("getblock", await fixture.node.rpc("getblockhash", height - 1), 0),
  "gives another block under the header": async ({ fixture, height, hex }) => {
    const other = await fixture.node.rpc("getblockhash", height - 1);
    return hex.slice(0, 160) + (await fixture.node.rpc<string>("getblock", other, 0)).slice(160);
  },
  "stops in the middle": ({ hex }) => hex.slice(0, hex.length - 20),
  "goes on behind the end": ({ hex }) => `${hex}00`,
  "claims more than it gives": ({ hex }) => `${hex.slice(0, 160)}feffffffff${hex.slice(162)}`,
  "gives no bytes": () => "none",
};

for (const [what, lie] of Object.entries(LIES)) {
  onNodes(
    `a node that ${what} is not believed, and another is asked`,
    CHAINS,
    ["l", "lh"],
    async (scene, among) => {
      const { fixture, height, hash, address, made, lying } = scene;
      const told = await lie(scene);
      lies(
        lying,
        ({ method, params }) =>
          method === "getblock" && params[0] === hash && params[1] === 0 ? told : undefined,
      );
      const chain = await fixture.open(...made.map(({ url }) => url));
      const work = scanned(chain, height - 1, height + 1, watching([address]));
      if (among === "l") await failsAs("unavailable", work);
      else {
        const found = (await work).flatMap(({ transfers }) => transfers);
        deepEqual(
          found.map(({ amount }) => amount).sort(),
          [fixture.amount, 2n * fixture.amount].sort(),
        );
      }
      equal(chain.reports().length, 1);
      match(chain.reports()[0], new RegExp(`does not prove block ${height}`));
    },
  );
}

onNodes(
  "a block of its own making hides no deposit once the others tell",
  CHAINS,
  ["lh", "lhh", "hlh"],
  async ({ fixture, height, hash, hex, script, address, made, lying }, among) => {
    const fake = forged(hex, (all) => all.filter((one) => paysUs(one, script) < 0));
    lies(lying, async ({ method, params }) => {
      if (method === "getblockhash" && params[0] === height) return fake.hash;
      if (params[0] !== fake.hash) return undefined;
      const header = await fixture.node.rpc<object>("getblockheader", hash, true);
      return method === "getblock" ? fake.hex : { ...header, hash: fake.hash };
    });
    const chain = await fixture.open(...made.map(({ url }) => url));
    const work = scanned(chain, height, height, watching([address]));
    if (among === "lh") {
      await failsAs("unavailable", work);
      return await failsAs("unavailable", chain.block(height));
    }
    equal((await work)[0].transfers.length, 2);
    equal((await chain.block(height))?.hash, hash);
    ok(chain.reports().length > 0);
  },
);

onNodes(
  "the amount of a coin is that of its block, whatever the node reports later",
  CHAINS,
  ["l"],
  async ({ fixture, height, address, made, lying }) => {
    const chain = await fixture.open(made[0].url);
    const [{ transfers: [transfer] }] = await scanned(chain, height, height, watching([address]));
    for (const lie of [{ value: 777 }, { scriptPubKey: { hex: "51" } }]) {
      lies(lying, async ({ method, params }) => {
        if (method !== "gettxout") return undefined;
        const told = await fixture.node.rpc<object | null>(method, ...params);
        return told === null ? null : { ...told, ...lie };
      });
      await failsAs("unavailable", chain.recheck(transfer));
    }
  },
);

onNodes("a block read from its bytes equals the node's report", CHAINS, ["h"], async (scene) => {
  const { fixture, hash, hex, height } = scene;
  const id = fixture.node === nodes.get("LITECOIN") ? "LITECOIN" : "BITCOIN_CASH";
  const block = await readBlock(
    { table: COIN_TABLES[id], bitcoin },
    Uint8Array.fromHex(hex),
    { hash, height },
  );
  // deno-lint-ignore no-explicit-any
  const told = await fixture.node.rpc<any>("getblock", hash, 2);
  deepEqual([block.parentHash, block.time], [told.previousblockhash, told.time]);
  for (const [at, one] of block.transactions.entries()) {
    const { txid, vin, vout } = told.tx[at];
    equal(one.hash, txid);
    equal(one.coinbase, at === 0);
    // deno-lint-ignore no-explicit-any
    const spends = at === 0 ? [] : vin.map((input: any) => `${input.txid}:${input.vout}`);
    deepEqual(one.spends, spends);
    for (const { index, amount, script } of one.outputs) {
      equal(amount, BigInt(Math.round(vout[index].value * 1e8)));
      equal(script, vout[index].scriptPubKey.hex);
    }
  }
});

Deno.test({
  name: "blocks of Litecoin that end with an extension block prove themselves",
  ignore,
  fn: async () => {
    await using node = await startLitecoind("-vbparams=mweb:0:9999999999");
    await using fixture = await openUtxoFixture("LITECOIN", node, { shared: true });
    await node.mine(431 - await node.rpc<number>("getblockcount"));
    const inside = await node.rpc<string>("getnewaddress", "", "mweb");
    await node.rpc("sendtoaddress", inside, 1);
    const { address } = await fixture.party();
    await fixture.pay(address, fixture.amount);
    await node.mine(2);
    const { height } = await fixture.chain.head();
    const found = await scanned(fixture.chain, height - 1, height, watching([address]));
    deepEqual(found.flatMap(({ transfers }) => transfers.map(({ amount }) => amount)), [
      fixture.amount,
    ]);
    const hash = await node.rpc<string>("getblockhash", height);
    const hex = await node.rpc<string>("getblock", hash, 0);
    const rules = { table: COIN_TABLES.LITECOIN, bitcoin };
    const block = await readBlock(rules, Uint8Array.fromHex(hex), { hash, height });
    const { bytes } = block.transactions[block.transactions.length - 1];
    equal(bytes[5] & 8, 8, "the last transaction joins the extension block");
    const there = await node.rpc<string>("getnewaddress");
    await node.rpc("sendtoaddress", there, 0.1);
    await node.mine(1);
    equal((await scanned(fixture.chain, height + 1, height + 1, watching([address]))).length, 1);
  },
});

Deno.test("a block of Dogecoin whose work was done on another chain proves itself", async () => {
  const coinbase = new Transaction();
  coinbase.addInput(new Uint8Array(32), 0xffffffff, 0xffffffff, Uint8Array.of(4, 1, 2, 3, 4));
  coinbase.addOutput(Uint8Array.of(0x51), 10_000n);
  const work = [
    coinbase.toHex() + "11".repeat(32),
    `02${"22".repeat(64)}00000000`,
    `03${"33".repeat(96)}05000000`,
    "44".repeat(80),
  ].join("");
  for (
    const [table, version, proves] of [
      [COIN_TABLES.DOGECOIN, 0x00620104, true],
      [COIN_TABLES.DOGECOIN, 0x00620004, false],
      [COIN_TABLES.LITECOIN, 0x00620104, false],
    ] as const
  ) {
    const block = new Block();
    Object.assign(block, {
      version,
      prevHash: new Uint8Array(32).fill(9),
      transactions: [coinbase],
    });
    block.merkleRoot = Block.calculateMerkleRoot([coinbase]);
    const plain = block.toHex(false);
    const bytes = Uint8Array.fromHex(plain.slice(0, 160) + work + plain.slice(160));
    const place = { hash: block.getId(), height: 7 };
    const read = readBlock({ table, bitcoin }, bytes, place);
    if (!proves) await failsAs("unavailable", read);
    else deepEqual((await read).transactions.map(({ hash }) => hash), [coinbase.getId()]);
  }
});
