/** A withdrawal is given back only on a proof that no single node can make up. */
import { equal, match } from "node:assert/strict";
import { type Anvil, rich } from "../support/nodes/anvil.ts";
import { NodeError, passOn, type Trick } from "../support/nodes/faulty_node.ts";
import { sharingFunded } from "../support/sharing_funded.ts";

const ETHER = 10n ** 18n;
const FAKE = `0x${"ab".repeat(32)}`;
// deno-lint-ignore no-explicit-any
type Json = any;
const test = sharingFunded("payments that a node calls lost");

/** A node that keeps the bytes, and then tells a story of what became of them. */
interface Story {
  /** The lying node's answer once it holds the bytes. */
  readonly tell: (of: {
    anvil: Anvil;
    url: string;
    at: number;
    address: string;
    raw: string;
  }) => Trick;
}

const STORIES: Readonly<Record<string, Story>> = {
  "a transaction of its own making with our nonce": {
    tell: ({ url, at, address }) => {
      const to = rich(4).address.toLowerCase();
      const fake = { hash: FAKE, from: address.toLowerCase(), to, value: "0x1", nonce: "0x0" };
      return takenBy(url, at, fake);
    },
  },
  "another's signed transaction in the place of ours": {
    tell: ({ url, at, address }) => async (question) => {
      // Signed indeed, but by another key: the hash is right, the sender is a lie.
      const block = await ask(url, "eth_getBlockByNumber", "0x2", true);
      const [other] = block.transactions;
      const fake = { ...other, from: address.toLowerCase(), nonce: "0x0" };
      return await takenBy(url, at, fake)(question);
    },
  },
};

async function ask(url: string, method: string, ...params: unknown[]): Promise<Json> {
  return (await passOn(url, { id: 1, method, params }) as Json).result;
}

function takenBy(url: string, at: number, fake: Json): Trick {
  return async (question) => {
    const { method, params } = question;
    if (method === "eth_getTransactionCount") {
      return parseInt(params[1] as string, 16) < at ? "0x0" : "0x1";
    }
    if (method === "eth_getTransactionByHash" && params[0] === fake.hash) return fake;
    if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") {
      return null;
    }
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    if (params[0] !== `0x${at.toString(16)}`) return undefined;
    const { result } = await passOn(url, question) as Json;
    return result && { ...result, transactions: [...result.transactions, fake] };
  };
}

for (const [name, story] of Object.entries(STORIES)) {
  for (const nodes of ["l", "lh", "hl", "lhh", "hhl"]) {
    test(
      `a node that shows ${name} has nothing given back (nodes ${nodes})`,
      nodes.length,
      async ({ funded, nodes: made, outside }) => {
        const { anvil, address } = funded;
        const { url } = anvil;
        const { body: { id } } = await funded.withdraw("1");
        const at = parseInt(await anvil.rpc<string>("eth_blockNumber"), 16) + 1;
        let raw = "";
        // No honest node hears of it while the lying node tells its story.
        for (const one of made) {
          one.trick = ({ method, params }) => {
            if (method !== "eth_sendRawTransaction") return undefined;
            raw = params[0] as string;
            throw new NodeError(-32000, "nonce too low");
          };
        }
        await funded.advance();
        const lying = made[nodes.indexOf("l")];
        const kept = lying.trick;
        const lie = story.tell({ anvil, url, at, address, raw });
        lying.trick = async (question) => await kept(question) ?? await lie(question);
        for (let round = 0; round < 5; round++) {
          await funded.advance();
          await anvil.mine();
        }
        const row = await funded.read(id);
        equal(row.status, "PROCESSING");
        for (const one of made) one.trick = () => undefined;
        equal((await funded.finish(id)).status, "DONE");
        equal(BigInt(await anvil.rpc<string>("eth_getBalance", outside, "latest")), ETHER);
      },
    );
  }
}

for (const nodes of ["lh", "hl", "lhh"]) {
  test(
    `a node that says a payment failed has nothing given back (nodes ${nodes})`,
    nodes.length,
    async ({ funded, nodes: made }) => {
      const { body: { id } } = await funded.withdraw("1");
      const lying = made[nodes.indexOf("l")];
      lying.trick = async ({ method, params, id: question }) => {
        if (method !== "eth_getTransactionReceipt") return undefined;
        const { result } = await passOn(funded.anvil.url, { id: question, method, params }) as Json;
        return result && { ...result, status: "0x0" };
      };
      for (let round = 0; round < 6; round++) {
        await funded.advance();
        await funded.anvil.mine();
      }
      // Of three nodes two agree; of two none is believed.
      equal((await funded.read(id)).status, nodes === "lhh" ? "DONE" : "PROCESSING");
      lying.trick = () => undefined;
      equal((await funded.finish(id)).status, "DONE");
    },
  );
}

test("one node of three that reports another nonce changes none", 3, async ({ funded, nodes }) => {
  nodes[0].trick = ({ method }) => method === "eth_getTransactionCount" ? "0x186a0" : undefined;
  const { body: { id } } = await funded.withdraw("1");
  const row = await funded.finish(id);
  equal(row.status, "DONE");
  equal(row.chain.nonce, 0);
  match(row.chain.hash, /^0x/);
});
