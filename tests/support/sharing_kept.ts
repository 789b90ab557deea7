/** Tests of a file that each begin with the same state: rows and chain are put back between them. @module */
import { jobsOf } from "./jobs_of.ts";
import { keepRows, type PutBack } from "./kept_state.ts";
import { type FaultyNode, startFaultyNode } from "./nodes/faulty_node.ts";
import type { TestRealm } from "./realm.ts";

/** What tests begin with. */
export interface Beginning<Scene> extends AsyncDisposable {
  readonly realm: TestRealm;
  /** Keeps the chain of its node; gives what puts it back. */
  keepChain(): Promise<PutBack>;
  /** Opens workers that know nothing of the node yet; the realm has jobs of their own. */
  begin(realm: TestRealm): Promise<Scene>;
}

/** Adds a test, which begins with the state as it was opened. */
export type AddKept<Scene> = (
  title: string,
  work: (scene: Scene, nodes: readonly FaultyNode[]) => Promise<void>,
) => void;

/** How a state is opened. */
export interface KeptOptions {
  /** Nodes that misbehave when told stand before the one; none unless given. */
  readonly nodes?: number;
}

/**
 * Opens a state once for several tests, which are the steps of one. To put it back takes a fiftieth of a second of a
 * processor, and connections have made their first statements.
 *
 * @param open is given the addresses of the nodes in place of the real one's
 */
export function sharingKept<Scene extends AsyncDisposable>(
  title: string,
  open: (front: (url: string) => string) => Promise<Beginning<Scene>>,
  { nodes: count = 0 }: KeptOptions = {},
): AddKept<Scene> {
  const steps: Parameters<AddKept<Scene>>[] = [];
  Deno.test(title, async (t) => {
    const nodes: FaultyNode[] = [];
    try {
      await using beginning = await open((url) => {
        nodes.push(...Array.from({ length: count }, () => startFaultyNode(url)));
        return count === 0 ? url : nodes.map((one) => one.url).join();
      });
      const { realm } = beginning;
      await using kept = await keepRows(realm);
      const putBackChain = await beginning.keepChain();
      for (const [at, [name, work]] of steps.entries()) {
        if (at > 0) {
          await kept.putBack();
          await putBackChain();
        }
        for (const node of nodes) {
          Object.assign(node, { trick: () => undefined, retell: (said: unknown) => said });
        }
        await t.step(name, async () => {
          const jobs = jobsOf(realm.services, realm.database, realm.id);
          try {
            await using scene = await beginning.begin({ ...realm, drain: jobs.drain });
            await work(scene, nodes);
          } finally {
            jobs.close();
          }
        });
      }
    } finally {
      for (const node of nodes) await node.abort();
    }
  });
  return (name, work) => void steps.push([name, work]);
}
