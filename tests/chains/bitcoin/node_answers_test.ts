import { equal, throws } from "node:assert/strict";
import { ChainError } from "../../../workers/chains/chain.ts";
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import { CASH_FORK, GENESIS } from "../../../workers/chains/bitcoin/networks.ts";
import { coinOf, readTransaction, satoshi } from "../../../workers/chains/bitcoin/node_answers.ts";
import { failsAs } from "../conformance.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { fc } from "../../support/properties.ts";

const SOME = "ab".repeat(32);

Deno.test("amounts are read from their text, exactly", () => {
  const cases: [unknown, bigint][] = [
    [0, 0n],
    [50, 5_000_000_000n],
    ["0.1", 10_000_000n],
    ["0.00000001", 1n],
    ["1e-8", 1n],
    ["1.5E-7", 15n],
    ["20999999.97690000", 2_099_999_997_690_000n],
    ["92233720368.54775807", 9_223_372_036_854_775_807n],
    ["1.000000010000000000", 100_000_001n],
  ];
  for (const [given, expected] of cases) equal(satoshi(given), expected, `${given}`);
  for (const given of ["", "-1", "0.000000001", "1e-9", "NaN", null, true, {}, "1,5", "0x1", -1]) {
    throws(() => satoshi(given), ChainError, `${given}`);
  }
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 19n }), (amount) => {
    const whole = `${amount / 10n ** 8n}.${`${amount % 10n ** 8n}`.padStart(8, "0")}`;
    equal(satoshi(whole), amount);
  }));
});

Deno.test("outputs of Litecoin's extension block and outputs with tokens are left out", () => {
  const script = { hex: `0014${"11".repeat(20)}` };
  const read = readTransaction({
    txid: SOME,
    vin: [{ ismweb: true, output_id: SOME }, { txid: SOME, vout: 3 }],
    vout: [
      { ismweb: true, output_id: SOME },
      { n: 1, value: "0.5", scriptPubKey: script, tokenData: { category: SOME } },
      { n: 2, value: "0.25", scriptPubKey: script },
    ],
  });
  equal(read.spends.join(), `${SOME}:3`);
  equal(read.outputs.map(({ index }) => index).join(), "2");
});

Deno.test("an input that is none is an error of ours", () => {
  equal(coinOf(`${SOME}:7`).index, 7);
  for (const input of ["", SOME, `${SOME}:`, `${SOME}:-1`, `0x12:3`]) {
    throws(() => coinOf(input), TypeError);
  }
});

Deno.test("a node is believed only if its name, first block and fork are those of the chain", async () => {
  const [bitcoin] = GENESIS["BITCOIN main"];
  const [litecoin] = GENESIS["LITECOIN main"];
  const [older, newer] = GENESIS["BITCOIN testnet"];
  const cases = [
    ["BITCOIN", "main", "main", bitcoin, SOME, true],
    ["BITCOIN", "main", "main", bitcoin, CASH_FORK.hash, false],
    ["BITCOIN_CASH", "main", "main", bitcoin, CASH_FORK.hash, true],
    ["BITCOIN_CASH", "main", "main", bitcoin, SOME, false],
    ["BITCOIN", "main", "main", litecoin, SOME, false],
    ["LITECOIN", "main", "main", litecoin, SOME, true],
    ["LITECOIN", "main", "test", litecoin, SOME, false],
    ["BITCOIN", "testnet", "test", older, SOME, true],
    ["BITCOIN", "testnet", "testnet4", newer, SOME, true],
    ["BITCOIN", "signet", "test", older, SOME, false],
    ["BITCOIN", "regtest", "regtest", SOME, SOME, true],
    ["BITCOIN", "regtest", "regtest", bitcoin, SOME, false],
    ["DOGECOIN", "main", "main", bitcoin, SOME, false],
  ] as const;
  for (const [id, network, name, first, fork, fits] of cases) {
    await using node = startFaultyNode(null, ({ method, params: [at] }) => {
      if (method === "getblockchaininfo") return { chain: name };
      if (method === "getblockhash") {
        return at === 0 ? first : at === CASH_FORK.height ? fork : SOME;
      }
      if (method === "getbestblockhash") return SOME;
      return { hash: SOME, height: 900_000, previousblockhash: SOME, time: 1_700_000_000 };
    });
    const chain = await openCoins(id, network, [node.url]);
    if (fits) equal((await chain.head()).height, 900_000);
    else await failsAs("wrong_chain", chain.head());
    chain.close();
  }
});

Deno.test("a node that has not reached the fork yet is unavailable, not wrong", async () => {
  await using node = startFaultyNode(null, ({ method, params: [at] }) => {
    if (method === "getblockchaininfo") return { chain: "main" };
    if (at === 0) return GENESIS["BITCOIN main"][0];
    throw new NodeError(-8, "Block height out of range");
  });
  const chain = await openCoins("BITCOIN", "main", [node.url]);
  await failsAs("unavailable", chain.head());
  chain.close();
});

Deno.test("a network that a chain does not have is unsupported", async () => {
  await failsAs("unsupported", openCoins("DOGECOIN", "signet", ["http://127.0.0.1:9"]));
});
