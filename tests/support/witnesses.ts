/** A realm behind several nodes, of which one may lie. @module */
import { type RampStage, rampStage } from "./ramp_fixture.ts";
import { rowsOf } from "./realm.ts";
import { type Rogue, startRogue } from "./nodes/misbehaving_node.ts";

/** A stage and its nodes. */
export interface Witnessed {
  stage: RampStage;
  /** The node that may lie. */
  liar: Rogue;
  /** All of them, in the order of their names. */
  nodes: readonly Rogue[];
  /** The real node. */
  url: string;
  /** Ends all of it. */
  end(): Promise<void>;
}

/** A stage behind nodes: "h" is an honest one, "l" one that may lie. */
export async function among(
  nodes: string,
  options: Parameters<typeof rampStage>[0] = {},
): Promise<Witnessed> {
  const made: Rogue[] = [];
  let url = "";
  const stage = await rampStage({
    ...options,
    through: (behind) => {
      url = behind;
      made.push(...[...nodes].map(() => startRogue(behind)));
      return made.map((one) => one.url).join();
    },
  });
  const liar = made[nodes.indexOf("l")];
  async function end(): Promise<void> {
    await stage[Symbol.asyncDispose]();
    for (const one of made) await one.abort();
  }
  return { stage, liar, nodes: made, url, end };
}

/** Lets deferred deposits and gains be tried again now. */
export async function hasten({ realm }: RampStage): Promise<void> {
  await rowsOf(realm, "update deposits set retry_at = now() where retry_at is not null");
  await rowsOf(realm, "update unexplained_gains set retry_at = now()");
}

/** Reads what is told of the chain. */
// deno-lint-ignore no-explicit-any
export async function chainOf({ realm }: RampStage): Promise<any> {
  return (await realm.admin.send("GET", "/v1/chains")).body[0];
}
