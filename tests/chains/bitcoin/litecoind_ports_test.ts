/** The node of tests itself: its port is free when it is chosen, and may be another program's when it listens. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { freePort } from "../../support/ports.ts";
import { hasLitecoind, startOnFreePort } from "../../support/nodes/litecoind.ts";

Deno.test({
  name: "a node whose port another program has taken meanwhile is started on the next one",
  ignore: !hasLitecoind(),
  fn: async () => {
    using other = Deno.listen({ port: freePort(), hostname: "127.0.0.1" });
    const { port: taken } = other.addr;
    const given: number[] = [];
    const next = () => {
      given.push(given.length === 0 ? taken : freePort());
      return given.at(-1)!;
    };
    await using node = await startOnFreePort([], next);
    equal(await node.rpc("getblockcount"), 110);
    deepEqual([given.length, given[0]], [2, taken]);
    await rejects(startOnFreePort([], () => taken), /litecoind ended/);
    await rejects(startOnFreePort(["-nosuchflag"], next), /litecoind ended/);
    equal(given.length, 3, "what fails otherwise is not tried again");
  },
});
