/** A realm behind several nodes, of which one may lie. @module */
import { openRampFixture, type RampFixture } from "./ramp_fixture.ts";
import { rowsOf } from "./realm.ts";
import { type FaultyNode, startFaultyNode } from "./nodes/faulty_node.ts";

/** A fixture and its nodes. */
export interface Witnessed {
  fixture: RampFixture;
  /** The node that may lie. */
  lying: FaultyNode;
  /** All of them, in the order of their names. */
  nodes: readonly FaultyNode[];
  /** The real node. */
  url: string;
  /** Ends all of it. */
  end(): Promise<void>;
}

/** A fixture behind nodes: "h" is an honest one, "l" one that may lie. */
export async function among(
  nodes: string,
  options: Parameters<typeof openRampFixture>[0] = {},
): Promise<Witnessed> {
  const made: FaultyNode[] = [];
  let url = "";
  const fixture = await openRampFixture({
    ...options,
    through: (behind) => {
      url = behind;
      made.push(...[...nodes].map(() => startFaultyNode(behind)));
      return made.map((one) => one.url).join();
    },
  });
  const lying = made[nodes.indexOf("l")];
  async function end(): Promise<void> {
    await fixture[Symbol.asyncDispose]();
    for (const one of made) await one.abort();
  }
  return { fixture, lying, nodes: made, url, end };
}

/** Lets deferred deposits and gains be tried again now. */
export async function retryDepositsNow({ realm }: RampFixture): Promise<void> {
  await rowsOf(realm, "update deposits set retry_at = now() where retry_at is not null");
  await rowsOf(realm, "update unexplained_gains set retry_at = now()");
}

/** Reads what is told of the chain. */
// deno-lint-ignore no-explicit-any
export async function chainOf({ realm }: RampFixture): Promise<any> {
  return (await realm.admin.send("GET", "/v1/chains")).body[0];
}
