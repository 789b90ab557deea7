/** Which network the nodes of a chain are of, where several would do: it stays decided when the process ends. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { openChains } from "../../workers/chains/registry.ts";
import { keptIdentities } from "../../workers/installation/network_identities.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase } from "../support/database.ts";
import { startAnvil } from "../support/nodes/anvil.ts";
import { startFaultyNode, type Trick } from "../support/nodes/faulty_node.ts";
import { rowsOf, testConfig, testRealm } from "../support/realm.ts";
import { failsAs } from "./conformance.ts";

const GOERLI = "0x5";
const PLACE = { chain: "ETHEREUM", testnet: true } as const;
const lies: Trick = ({ method }) => method === "eth_chainId" ? GOERLI : undefined;

/** A test network behind two nodes, and the processes that follow it one after the other. */
async function openRestarts() {
  const own = await realmDatabase();
  const realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const anvil = await startAnvil(31337);
  const nodes = [startFaultyNode(anvil.url), startFaultyNode(anvil.url)];
  const { chains: settings } = testConfig({
    ETHEREUM_TESTNET_RPC_URL: nodes.map(({ url }) => url).join(),
    ETHEREUM_TESTNET_QUORUM: "1",
  });
  return {
    nodes,
    url: own.url,
    /** Has a new process read the newest block. */
    async head(): Promise<number> {
      const chains = openChains(settings, keptIdentities(realm.database.platform));
      try {
        return (await (await chains.open(PLACE)).head()).height;
      } finally {
        chains.close();
      }
    },
    /** A process that goes on. */
    async follow() {
      const chains = openChains(settings, keptIdentities(realm.database.platform));
      const chain = await chains.open(PLACE);
      return {
        head: async () => (await chain.head()).height,
        [Symbol.dispose]: () => chains.close(),
      };
    },
    kept: () =>
      rowsOf<{ identity: string }>(realm, "select identity from platform.network_identities"),
    async [Symbol.asyncDispose]() {
      for (const one of nodes) await one.abort();
      await anvil.stop();
      await realm[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a node that lies about its test network decides it for no process that starts later, and an operator's command forgets the decision", async () => {
  await using its = await openRestarts();
  const { nodes: [first, second] } = its;
  equal(await its.head(), 0);
  deepEqual(await its.kept(), [{ identity: "31337" }]);
  // The preferred node lies, and alone it would decide.
  first.trick = lies;
  equal(await its.head(), 0);
  second.trick = lies;
  await rejects(
    its.head(),
    /is of the network 5, .* must be 31337, as was decided before; networks --forget ETHEREUM testnet /,
  );
  deepEqual(await its.kept(), [{ identity: "31337" }]);
  await using host = await commandHost();
  const run = (...args: string[]) => host.run(its.url, "networks", args);
  match((await run()).out, /^ETHEREUM testnet: 31337, since \d{4}-/);
  match((await run("--forget", "ETHEREUM", "testnet")).out, /^ETHEREUM testnet was 31337\. /);
  deepEqual(await its.kept(), []);
  equal((await run("--forget", "ETHEREUM", "testnet")).code, 1);
  equal(await its.head(), 0);
  deepEqual(await its.kept(), [{ identity: "5" }]);
});

Deno.test("a process that runs decides anew what an operator's command has forgotten, and nothing else", async () => {
  await using its = await openRestarts();
  using running = await its.follow();
  using second = await its.follow();
  deepEqual([await running.head(), await second.head()], [0, 0]);
  // After a failure nodes are asked anew which network they are of.
  const exchange = async (trick: Trick) => {
    for (const one of its.nodes) one.trick = () => new Response("", { status: 502 });
    for (const one of [running, second]) await failsAs("unavailable", one.head());
    for (const one of its.nodes) one.trick = trick;
  };
  await exchange(lies);
  await failsAs("wrong_chain", running.head());
  deepEqual(await its.kept(), [{ identity: "31337" }]);
  await using host = await commandHost();
  equal((await host.run(its.url, "networks", ["--forget", "ETHEREUM", "testnet"])).code, 0);
  equal(await running.head(), 0);
  deepEqual(await its.kept(), [{ identity: "5" }]);
  equal(await second.head(), 0, "what another process has decided since counts");
  await exchange(() => undefined);
  await failsAs("wrong_chain", running.head());
  deepEqual(await its.kept(), [{ identity: "5" }]);
});

Deno.test("processes that start at once, and whose nodes tell different test networks, all follow the one that was kept first", async () => {
  await using its = await openRestarts();
  const { nodes: [first, second] } = its;
  let turns = 0;
  const either: Trick = (call) => turns++ % 2 === 0 ? lies(call) : undefined;
  first.trick = either;
  second.trick = either;
  await Promise.allSettled(Array.from({ length: 6 }, () => its.head()));
  const [{ identity }, ...more] = await its.kept();
  deepEqual(more, []);
  first.trick = identity === "5" ? () => undefined : lies;
  second.trick = first.trick;
  await failsAs("wrong_chain", its.head());
  deepEqual(await its.kept(), [{ identity }]);
});
