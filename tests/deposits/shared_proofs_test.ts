/** Deposits of one block are proven together: each by its own questions, and what is the same for all is asked once. */
import { equal, ok } from "node:assert/strict";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";

const DEPOSITS = 9;
const ETHER = 10n ** 18n;

Deno.test("nine deposits of a block are proven by their own receipts, and share the block and the height", async () => {
  let front: FaultyNode | undefined;
  {
    await using fixture = await openRampFixture({
      through: (url) => (front = startFaultyNode(url)).url,
    });
    const ramp = await fixture.ramp();
    for (let i = 0; i < DEPOSITS; i++) {
      const { address } = await fixture.address(ramp.id);
      await fixture.anvil.pool({ to: address, value: ETHER });
    }
    await fixture.mine(1);
    front!.asked.length = 0;
    await fixture.mine(1);
    // Sweeps and fees come after the last proof.
    const asked = front!.asked.slice(0, front!.asked.lastIndexOf("eth_getTransactionByHash"));
    equal(
      (await fixture.deposits()).filter(({ status }) => status === "CONFIRMED").length,
      DEPOSITS,
    );
    const count = (method: string) => asked.filter((one) => one === method).length;
    equal(count("eth_getTransactionReceipt"), DEPOSITS);
    equal(count("eth_getTransactionByHash"), DEPOSITS - 1);
    ok(count("eth_blockNumber") < DEPOSITS, `${asked}`);
  }
  await front![Symbol.asyncDispose]();
});
