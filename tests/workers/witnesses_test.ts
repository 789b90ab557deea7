/** Nodes are witnesses: what one of them says alone neither credits nor hides anything. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { CALLS, rich } from "../support/anvil.ts";
import { driftsOf, mineUntil, type RampStage, rampStage } from "../support/ramps.ts";
import { rowsOf } from "../support/realm.ts";
import {
  passOn,
  type Question,
  type Rogue,
  RogueError,
  startRogue,
  type Trick,
} from "../support/rogue_node.ts";
import { installToken } from "../support/tokens.ts";

const ETHER = 10n ** 18n;
const FAKE = `0x${"ab".repeat(32)}`;
// deno-lint-ignore no-explicit-any
type Json = any;

/** A stage behind nodes: "h" is an honest one, "l" one that may lie. */
async function among(
  nodes: string,
  options: Parameters<typeof rampStage>[0] = {},
): Promise<{ stage: RampStage; liar: Rogue; url: string; end(): Promise<void> }> {
  const made: Rogue[] = [];
  let url = "";
  const stage = await rampStage({
    ...options,
    through: (behind) => {
      url = behind;
      made.push(...[...nodes].map(() => startRogue(behind)));
      return made.map((one) => one.url).join();
    },
  });
  const liar = made[nodes.indexOf("l")];
  async function end(): Promise<void> {
    await stage[Symbol.asyncDispose]();
    for (const one of made) await one.abort();
  }
  return { stage, liar, url, end };
}

/** Invents a payment of 777 ETH in the next block. */
async function invention({ stage, url }: { stage: RampStage; url: string }, to: string) {
  const at = parseInt(await stage.anvil.rpc<string>("eth_blockNumber"), 16) + 1;
  const height = `0x${at.toString(16)}`;
  const fake = {
    hash: FAKE,
    from: rich(4).address.toLowerCase(),
    to: to.toLowerCase(),
    value: `0x${(777n * ETHER).toString(16)}`,
    nonce: "0x9",
  };
  const trick: Trick = async (question) => {
    const { method, params } = question;
    if (method === "eth_getBlockByNumber" && params[0] === height && params[1] === true) {
      const { result } = await passOn(url, question) as Json;
      return result && { ...result, transactions: [...result.transactions, fake] };
    }
    if (params[0] !== FAKE) return undefined;
    if (method === "eth_getTransactionByHash") return fake;
    if (method !== "eth_getTransactionReceipt") return undefined;
    const block = await stage.anvil.rpc<Json>("eth_getBlockByNumber", height, false);
    return block && {
      ...{ transactionHash: FAKE, blockHash: block.hash, blockNumber: height, from: fake.from },
      ...{ status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
    };
  };
  return trick;
}

/** Lets deferred deposits and gains be tried again now. */
async function hasten({ realm }: RampStage): Promise<void> {
  await rowsOf(realm, "update deposits set retry_at = now() where retry_at is not null");
  await rowsOf(realm, "update unexplained_gains set retry_at = now()");
}

async function chainOf({ realm }: RampStage): Promise<Json> {
  return (await realm.admin.send("GET", "/v1/chains")).body[0];
}

for (const nodes of ["lh", "hl", "lhh", "hhl", "l"]) {
  Deno.test(`a deposit that one node invents is not credited · nodes: ${nodes}`, async () => {
    const staged = await among(nodes);
    const { stage, liar } = staged;
    try {
      const ramp = await stage.ramp();
      await stage.mine(2);
      liar.trick = await invention(staged, ramp.address);
      // An honest payment in the same block must not lend its balance to the invented one.
      await stage.anvil.pool({ to: ramp.address, value: ETHER });
      for (let round = 0; round < 5; round++) {
        await stage.mine();
        await hasten(stage);
      }
      await stage.mine();
      const { total } = (await stage.account(ramp.id)).balance;
      const fakes = (await stage.deposits()).filter((row) => row.hash === FAKE);
      ok(fakes.every((row) => row.status === "PENDING"));
      if (nodes === "l") {
        // One node is all there is, but its own balances contradict it.
        equal(fakes.length, 1);
        match(fakes[0].error.detail, /does not bear out/);
        equal((await chainOf(stage)).healthy, false);
      } else {
        equal(total, "1");
      }
      ok(total === "0" || total === "1");
      if (fakes.length > 0 && nodes === "lh") {
        match(fakes[0].error.detail, /1 of 2 nodes confirm/);
        const chain = await chainOf(stage);
        deepEqual([chain.healthy, chain.nodes, chain.quorum], [false, 2, 2]);
        match(chain.error, /1 deposits wait until enough nodes confirm them/);
      }
    } finally {
      await staged.end();
    }
  });
}

for (const nodes of ["lhh", "hlh", "hhl"]) {
  Deno.test(`a deposit that one node of three keeps back is credited · nodes: ${nodes}`, async () => {
    const staged = await among(nodes);
    const { stage, liar, url } = staged;
    try {
      const ramp = await stage.ramp();
      await stage.mine(2);
      const hash = await stage.anvil.pool({ to: ramp.address, value: ETHER });
      liar.trick = withholds(url, hash, ramp.address);
      for (let round = 0; round < 10; round++) {
        await stage.mine();
        await hasten(stage);
      }
      equal((await stage.account(ramp.id)).balance.total, "1");
    } finally {
      await staged.end();
    }
  });
}

/** A node that knows nothing of a payment, and of the balance that came of it. */
function withholds(url: string, hash: string, address: string): Trick {
  return async (question: Question) => {
    const { method, params } = question;
    if (params[0] === hash) return null;
    if (method === "eth_getBalance" && String(params[0]).toLowerCase() === address.toLowerCase()) {
      return "0x0";
    }
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    const { result } = await passOn(url, question) as Json;
    if (!result) return null;
    const transactions = result.transactions.filter((one: Json) => one.hash !== hash);
    return { ...result, transactions };
  };
}

Deno.test("a deposit that one node of two keeps back is found through the other, and waits visibly", async () => {
  const staged = await among("lh");
  const { stage, liar, url } = staged;
  try {
    const ramp = await stage.ramp();
    await stage.mine(2);
    const hash = await stage.anvil.pool({ to: ramp.address, value: ETHER });
    liar.trick = withholds(url, hash, ramp.address);
    for (let round = 0; round < 8; round++) {
      await stage.mine();
      await hasten(stage);
    }
    const [row] = await stage.deposits();
    equal(row.status, "PENDING");
    match(row.error.detail, /1 of 2 nodes confirm/);
    equal((await chainOf(stage)).healthy, false);
    liar.trick = () => undefined;
    await hasten(stage);
    await stage.mine(2);
    equal((await stage.account(ramp.id)).balance.total, "1");
    equal((await stage.deposits())[0].error, null);
  } finally {
    await staged.end();
  }
});

Deno.test("a head far beyond what time allows is not believed", async () => {
  const staged = await among("l");
  const { stage, liar, url } = staged;
  try {
    await stage.ramp();
    await stage.mine(2);
    liar.trick = async (question) => {
      if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
      const { result } = await passOn(url, question) as Json;
      return { ...result, number: "0xfffffff" };
    };
    await stage.mine();
    match((await chainOf(stage)).error, /blocks ahead of the last/);
    liar.trick = async (question) => {
      if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
      const { result } = await passOn(url, question) as Json;
      return { ...result, timestamp: "0xffffffff" };
    };
    await stage.mine();
    match((await chainOf(stage)).error, /of the future/);
    liar.trick = () => undefined;
    await stage.mine();
    equal((await chainOf(stage)).error, null);
  } finally {
    await staged.end();
  }
});

Deno.test("of three nodes one that shows another height changes nothing", async () => {
  for (const shift of [-3, 1000]) {
    const staged = await among("lhh");
    const { stage, liar, url } = staged;
    try {
      const ramp = await stage.ramp();
      await stage.mine(5);
      liar.trick = async (question) => {
        if (question.method === "eth_blockNumber") {
          const { result } = await passOn(url, question) as Json;
          return `0x${(parseInt(result, 16) + shift).toString(16)}`;
        }
        if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
        const { result } = await passOn(url, question) as Json;
        return { ...result, number: `0x${(parseInt(result.number, 16) + shift).toString(16)}` };
      };
      await stage.anvil.pool({ to: ramp.address, value: ETHER });
      await stage.mine();
      // Not as deep as it must be, whatever the liar says.
      equal((await stage.account(ramp.id)).balance.total, "0");
      await stage.mine();
      await stage.mine();
      equal((await stage.account(ramp.id)).balance.total, "1");
    } finally {
      await staged.end();
    }
  }
});

Deno.test("a payment from inside a contract whose trace is gone is proven by balances, and keeps nobody waiting", async () => {
  const staged = await among("l", { env: { ETHEREUM_TESTNET_CONFIRMATIONS: "3" } });
  const { stage, liar } = staged;
  try {
    const { anvil } = stage;
    const ramp = await stage.ramp();
    const one = await stage.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await stage.mine(2);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], 1n]);
    await anvil.pool({ to: batcher, value: 1n, data });
    await stage.mine();
    deepEqual((await stage.deposits()).map((row) => [row.status, row.index]), [["PENDING", -2]]);
    let balances = false;
    liar.trick = ({ method, params }) => {
      const old = method === "eth_getBalance" && params[1] !== "latest";
      if (method.startsWith("debug_") || (old && !balances)) {
        throw new RogueError(-32000, "required historical state unavailable (reexec=128)");
      }
    };
    await anvil.pool({ to: ramp.address, value: 5n * ETHER });
    for (let round = 0; round < 6; round++) await stage.mine();
    equal((await stage.account(ramp.id)).balance.total, "5");
    balances = true;
    await hasten(stage);
    await stage.mine();
    await stage.mine();
    equal((await stage.account(one.id)).balance.total, "0.000000000000000001");
  } finally {
    await staged.end();
  }
});

for (const fault of ["503", "execution timeout"]) {
  Deno.test(`a trace that fails once hides no payment from inside a contract · ${fault}`, async () => {
    const staged = await among("l");
    const { stage, liar } = staged;
    try {
      const { anvil } = stage;
      const ramp = await stage.ramp();
      const one = await stage.address(ramp.id);
      const batcher = await anvil.deploy("Batcher");
      await stage.mine(2);
      const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
      await anvil.pool({ to: batcher, value: ETHER, data });
      let failed = 0;
      liar.trick = ({ method }) => {
        if (!method.startsWith("debug_") || failed > 0) return undefined;
        failed++;
        if (fault === "503") return new Response("busy", { status: 503 });
        throw new RogueError(-32000, fault);
      };
      await stage.mine();
      equal(failed, 1);
      await hasten(stage);
      await stage.mine();
      await stage.mine();
      await stage.mine();
      equal((await stage.account(one.id)).balance.total, "1");
      equal((await chainOf(stage)).unexplained, 0);
    } finally {
      await staged.end();
    }
  });
}

Deno.test("more blocks with payments from inside contracts than one pass searches: none is lost", async () => {
  const staged = await among("l");
  const { stage } = staged;
  try {
    const { anvil } = stage;
    const ramp = await stage.ramp();
    const one = await stage.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await stage.mine(2);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], 1n]);
    for (let block = 0; block < 20; block++) {
      await anvil.send({ to: batcher, value: 1n, data });
    }
    for (let round = 0; round < 12; round++) {
      await stage.mine();
      await hasten(stage);
    }
    equal((await stage.account(one.id)).balance.total, "0.00000000000000002");
    equal((await chainOf(stage)).unexplained, 0);
  } finally {
    await staged.end();
  }
});

Deno.test("coins from inside a contract that come in the block in which a sweep leaves are found", async () => {
  const staged = await among("l");
  const { stage } = staged;
  try {
    const { anvil, realm } = stage;
    const ramp = await stage.ramp();
    const one = await stage.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await stage.mine(2);
    await anvil.pool({ to: one.address, value: 2n * ETHER });
    const isSent = async () =>
      (await rowsOf(realm, "select id from orders where purpose = 'sweep' and state = 'sent'"))
        .length > 0;
    for (let round = 0; round < 8 && !await isSent(); round++) await stage.mine();
    ok(await isSent());
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
    await anvil.pool({ to: batcher, value: ETHER, data });
    await mineUntil(stage, async () => (await stage.deposits()).length === 2);
    await mineUntil(stage, async () => {
      const [, found] = await stage.deposits();
      return found.status === "CONFIRMED";
    });
    deepEqual((await stage.deposits()).map((row) => row.index), [-1, -2]);
    await mineUntil(stage, async () => (await driftsOf(stage))[0][1] === "0");
  } finally {
    await staged.end();
  }
});

Deno.test("a token deposit that one lagging answer hid is found by its balance", async () => {
  const staged = await among("l", { testnet: false });
  const { stage, liar } = staged;
  try {
    const token = await installToken(stage.anvil, "USDC");
    const usdc = await stage.ramp("USDC");
    await stage.mine(2);
    await token.pay(usdc.address, 5_000_000n);
    let empty = 0;
    liar.trick = ({ method }) => {
      if (method === "eth_getLogs" && empty++ < 1) return [];
    };
    await stage.mine();
    equal(empty > 0, true);
    liar.trick = () => undefined;
    for (let round = 0; round < 4; round++) {
      await stage.mine();
      await hasten(stage);
    }
    equal((await stage.account(usdc.id)).balance.total, "5");
    deepEqual((await driftsOf(stage)).find(([asset]) => asset === "USDC"), ["USDC", "0"]);
  } finally {
    await staged.end();
  }
});

Deno.test("a rescan through a client that lists calls otherwise credits nothing again", async () => {
  const staged = await among("l");
  const { stage, liar, url } = staged;
  try {
    const { anvil, realm } = stage;
    const ramp = await stage.ramp();
    const other = await stage.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await stage.mine(2);
    const payees = [ramp.address, other.address, ramp.address];
    const data = CALLS.encodeFunctionData("payCoin", [payees, ETHER]);
    await anvil.pool({ to: batcher, value: 3n * ETHER, data });
    await stage.mine();
    const height = parseInt(await anvil.rpc<string>("eth_blockNumber"), 16);
    await stage.mine();
    await stage.mine();
    equal((await stage.account(ramp.id)).balance.total, "2");
    const more = (frame: Json) => {
      const to = "0x0000000000000000000000000000000000000004";
      const extra = { type: "CALL", from: frame.to, to, value: "0x1" };
      return { ...frame, calls: [extra, ...(frame.calls ?? []).toReversed()] };
    };
    liar.trick = async (question) => {
      if (!question.method.startsWith("debug_")) return undefined;
      const { result } = await passOn(url, question) as Json;
      if (!Array.isArray(result)) return more(result);
      return result.map((one: Json) => ({ ...one, result: more(one.result) }));
    };
    const wanted = { chain: "ETHEREUM", testnet: true, from: height, to: height };
    equal((await realm.admin.send("POST", "/v1/deposits/rescan", wanted)).status, 200);
    await realm.drain();
    await stage.mine();
    const rows = await stage.deposits();
    deepEqual(rows.map((row) => [row.index, row.amount]).toSorted(), [[-2, "1"], [-2, "2"]]);
  } finally {
    await staged.end();
  }
});
