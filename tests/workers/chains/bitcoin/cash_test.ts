import { conformance } from "../../../chains/conformance.ts";
import { startBcash } from "../../../support/bcash.ts";
import type { CoinNode } from "../../../support/litecoind.ts";
import { coinStage } from "./stage.ts";

let node: CoinNode;

// One node for all: every test has its own parties, and mines what it needs.
Deno.test.beforeAll(async () => {
  node = await startBcash();
});
Deno.test.afterAll(() => node.stop());

conformance("Bitcoin Cash", () => coinStage("BITCOIN_CASH", node, { shared: true }));
