/** A realm behind several nodes, of which one may lie. @module */
import { openRampFixture, type RampFixture, withNewWorkers } from "./ramp_fixture.ts";
import { rowsOf } from "./realm.ts";
import { testFile } from "./test_file.ts";
import { type FaultyNode, startFaultyNode } from "./nodes/faulty_node.ts";

/** A fixture and its nodes. */
export interface Witnessed {
  fixture: Omit<RampFixture, typeof Symbol.asyncDispose>;
  /** The node that may lie. */
  lying: FaultyNode;
  /** All of them, in the order of their names. */
  nodes: readonly FaultyNode[];
  /** The real node. */
  url: string;
}

/** The same, and how it ends. */
export interface EndingWitnessed extends Witnessed {
  /** Ends all of it. */
  end(): Promise<void>;
}

/** A fixture behind nodes: "h" is an honest one, "l" one that may lie. */
export async function among(
  nodes: string,
  options: Parameters<typeof openRampFixture>[0] = {},
  file: string = testFile(),
): Promise<EndingWitnessed> {
  const made: FaultyNode[] = [];
  let url = "";
  const fixture = await openRampFixture({
    ...options,
    through: (behind) => {
      url = behind;
      made.push(...[...nodes].map(() => startFaultyNode(behind)));
      return made.map((one) => one.url).join();
    },
  }, file);
  const lying = made[nodes.indexOf("l")];
  async function end(): Promise<void> {
    await fixture[Symbol.asyncDispose]();
    for (const one of made) await one.abort();
  }
  return { fixture, lying, nodes: made, url, end };
}

/** Adds a test behind nodes: "h" is an honest one, "l" one that may lie. */
export type AddAmong = (
  title: string,
  nodes: string,
  work: (witnessed: Witnessed, t: Deno.TestContext) => Promise<void>,
) => void;

/**
 * Opens a realm for all tests behind as many nodes; they are the steps of one test. Each has addresses of its own and asks
 * the nodes anew: nothing is held against the one that lied before.
 */
export function sharingNodes(
  title: string,
  options: Parameters<typeof openRampFixture>[0] = {},
): AddAmong {
  const file = testFile();
  const steps: Parameters<AddAmong>[] = [];
  Deno.test(title, async (t) => {
    const opened = new Map<number, EndingWitnessed>();
    try {
      for (const [name, nodes, work] of steps) {
        const shared = opened.get(nodes.length) ?? await among(nodes, options, file);
        opened.set(nodes.length, shared);
        for (const node of shared.nodes) node.trick = () => undefined;
        using fixture = withNewWorkers(shared.fixture, options.testnet ?? true);
        const lying = shared.nodes[nodes.indexOf("l")];
        await t.step(name, (inner) => work({ ...shared, fixture, lying }, inner));
      }
    } finally {
      for (const shared of opened.values()) await shared.end();
    }
  });
  return (name, nodes, work) => void steps.push([name, nodes, work]);
}

/** Reads the deposits of accounts, oldest first. */
export async function depositsOf(
  { fixture }: Witnessed,
  ...accounts: readonly { readonly id: string }[]
): ReturnType<RampFixture["deposits"]> {
  const ids = accounts.map(({ id }) => id);
  return (await fixture.deposits()).filter(({ account }) => ids.includes(account));
}

/** Lets deferred deposits and gains be tried again now. */
export async function retryDepositsNow({ realm }: Witnessed["fixture"]): Promise<void> {
  await rowsOf(realm, "update deposits set retry_at = now() where retry_at is not null");
  await rowsOf(realm, "update unexplained_gains set retry_at = now()");
}

/** Reads what is told of the chain. */
// deno-lint-ignore no-explicit-any
export async function chainOf({ realm }: Witnessed["fixture"]): Promise<any> {
  return (await realm.admin.send("GET", "/v1/chains")).body[0];
}
