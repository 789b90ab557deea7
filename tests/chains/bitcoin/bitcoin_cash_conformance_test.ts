import { conformance } from "../conformance.ts";
import { startBcash } from "../../support/nodes/bcash.ts";
import type { CoinNode } from "../../support/nodes/litecoind.ts";
import { openUtxoFixture } from "./fixture.ts";

let node: CoinNode;

// One node for all: every test has its own parties, and mines what it needs.
Deno.test.beforeAll(async () => {
  node = await startBcash();
});
Deno.test.afterAll(() => node.stop());

conformance("Bitcoin Cash", () => openUtxoFixture("BITCOIN_CASH", node, { shared: true }));
