import { conformance } from "../conformance.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../../support/nodes/litecoind.ts";
import { openUtxoFixture } from "./fixture.ts";

const ignore = !hasLitecoind();
let node: CoinNode;

// One node for all: every test has its own parties, and mines what it needs.
Deno.test.beforeAll(async () => {
  if (!ignore) node = await startLitecoind();
});
Deno.test.afterAll(async () => {
  if (!ignore) await node.stop();
});

conformance("Litecoin", () => openUtxoFixture("LITECOIN", node, { shared: true }), { ignore });
conformance("Bitcoin", () => openUtxoFixture("BITCOIN", node, { shared: true }), { ignore });
