import { openTron } from "../../../workers/chains/tron/chain.ts";
import { newTronParty, richTron } from "../../support/nodes/tron/wallet.ts";
import { type ReorganisingFixture, suite } from "../conformance.ts";
import { openTronPlay } from "./fixture.ts";

/** Blocks between the final block and the newest, where the suite replaces one. */
const LAG = 3;

async function start(lag: number): Promise<ReorganisingFixture> {
  const { node, chain, [Symbol.asyncDispose]: stop } = await openTronPlay({ lag });
  await node.mine(LAG);
  return {
    chain,
    payer: richTron(0),
    amount: 5_000_000n,
    party: () => Promise.resolve(newTronParty()),
    available: () => Promise.resolve({}),
    pay: (to, amount) => node.pay(to, amount, { from: richTron(1) }),
    mine: node.mine,
    reorganise: (blocks) => node.reorganise(blocks),
    openElsewhere: () => openTron("main", [node.url]),
    [Symbol.asyncDispose]: stop,
  };
}

// A payment counts once its block is final, so there blocks are final at once; final blocks stay.
for (const test of suite("Tron", () => start(0), { reorganises: false })) {
  if (!test.ignore) Deno.test(test);
}
for (const test of suite("Tron", () => start(LAG), {})) {
  if (/reorganisation/.test(test.name)) Deno.test(test);
}
