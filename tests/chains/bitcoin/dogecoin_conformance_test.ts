import { conformance } from "../conformance.ts";
import {
  type CoinNode,
  hasLitecoind,
  LIKE_DOGECOIN,
  startLitecoind,
} from "../../support/nodes/litecoind.ts";
import { openUtxoFixture } from "./fixture.ts";

const ignore = !hasLitecoind();
let node: CoinNode;

Deno.test.beforeAll(async () => {
  if (!ignore) node = await startLitecoind(...LIKE_DOGECOIN);
});
Deno.test.afterAll(async () => {
  if (!ignore) await node.stop();
});

conformance("Dogecoin", () => openUtxoFixture("DOGECOIN", node, { shared: true }), { ignore });
