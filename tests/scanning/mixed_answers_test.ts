/** Nodes whose answers to several questions in one request are mixed up, and a deposit meanwhile. @module */
import { deepEqual, equal } from "node:assert/strict";
import { holdingTimeouts } from "../support/held_timers.ts";
import { among, retryDepositsNow, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
/** Of a node's answers; it ends when nothing but endless ones is awaited, so that no answer of a busy machine is late. */
const TIMEOUT_MS = 599_000;
/** Endless answers that were begun. */
let endless = 0;

/** Gives endless answers up once no other is under way. */
function endingEndless(): Disposable {
  const timeouts = holdingTimeouts(TIMEOUT_MS);
  let over = endless;
  const timer = setInterval(() => {
    if (endless === over || timeouts.running() > endless - over) return;
    over = endless;
    timeouts.expire();
  }, 5);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      timeouts[Symbol.dispose]();
    },
  };
}

// deno-lint-ignore no-explicit-any
type Said = any;

/** Tells several answers otherwise; one alone as it is. */
const several = (change: (said: Said[]) => unknown) => (said: unknown) =>
  Array.isArray(said) && said.length > 1 ? change(said) : said;

/** What a node does to its answers, anew for each. */
const MIXED: Readonly<Record<string, () => (said: unknown) => unknown | Response>> = {
  "in another order": () => several((said) => said.toReversed()),
  "each twice": () => several((said) => [...said, ...said]),
  "with two that differ for each id": () =>
    several((
      said,
    ) => [...said, ...said.map(({ id }, i) => ({ ...said[(i + 1) % said.length], id }))]),
  "under the ids of each other": () =>
    several((said) => said.map((one, i) => ({ ...one, id: said[(i + 1) % said.length].id }))),
  "with ids as text": () => several((said) => said.map((one) => ({ ...one, id: `${one.id}` }))),
  "without one": () => several((said) => said.slice(1)),
  "and one more": () => several((said) => [...said, { jsonrpc: "2.0", id: 0, result: null }]),
  "in half": () => (said) => {
    const text = JSON.stringify(said);
    return new Response(text.slice(0, text.length / 2));
  },
  "without an end": () => (said) => {
    endless++;
    const bytes = new TextEncoder().encode(JSON.stringify(said).slice(0, -1));
    return new Response(
      new ReadableStream({
        start: (to) => to.enqueue(bytes),
        // Blanks are JSON too: whoever reads on for as long as something comes reads for ever.
        pull: async (to) => {
          await new Promise((resolve) => setTimeout(resolve, 50));
          to.enqueue(new TextEncoder().encode(" "));
        },
      }),
    );
  },
  "one request too late": () => {
    let last: unknown;
    return (said) => {
      const before = last ?? said;
      last = said;
      return before;
    };
  },
};

/** Pays a ramp while a node is as it is, and tries three times; gives the deposits that are credited by then. */
async function pay({ fixture }: Witnessed, to: string, wanted: number): Promise<number> {
  await fixture.anvil.pool({ to, value: ETHER });
  await fixture.mine(3);
  for (let i = 0; i < 3 && await credited(fixture) < wanted; i++) {
    await retryDepositsNow(fixture);
    await fixture.mine();
  }
  return await credited(fixture);
}

async function credited(fixture: Witnessed["fixture"]): Promise<number> {
  return (await fixture.deposits()).filter(({ status }) => status === "CONFIRMED").length;
}

for (const [nodes, quorum] of [["l", "1"], ["lh", "1"]]) {
  Deno.test(`a node that mixes up its answers neither loses a deposit nor doubles it (nodes ${nodes}, quorum ${quorum})`, async (t) => {
    using _ending = endingEndless();
    const env = { ETHEREUM_TIMEOUT_MS: `${TIMEOUT_MS}`, ETHEREUM_TESTNET_QUORUM: quorum };
    const staged = await among(nodes, { env });
    const { fixture, lying } = staged;
    try {
      const ramp = await fixture.ramp();
      let paid = 0;
      for (const [how, mix] of Object.entries(MIXED)) {
        await t.step(how, async () => {
          lying.retell = mix();
          const soon = await pay(staged, ramp.address, paid + 1);
          // Where one witness suffices the other is enough, whatever this one says.
          if (nodes.includes("h") && quorum === "1") equal(soon, paid + 1);
          lying.retell = (said) => said;
          paid++;
          for (let i = 0; i < 40 && await credited(fixture) < paid; i++) {
            await retryDepositsNow(fixture);
            await fixture.mine();
          }
          equal(await credited(fixture), paid);
          const { balance, frozen } = await fixture.account(ramp.id);
          deepEqual([balance.total, frozen], [`${paid}`, false]);
        });
      }
      equal((await fixture.deposits()).length, paid);
    } finally {
      await staged.end();
    }
  });
}
