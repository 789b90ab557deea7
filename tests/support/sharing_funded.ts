/** Tests of a file that share a realm and its node, and pay from ramps of their own. @module */
import { getAddress } from "ethers";
import {
  anotherFundedRamp,
  type FundedRamp,
  type FundedRampOptions,
  openFundedRamp,
} from "./evm_fixture.ts";
import { type FaultyNode, startFaultyNode } from "./nodes/faulty_node.ts";

/** A funded ramp behind nodes that misbehave when told. */
export interface FrontedRamp {
  readonly funded: FundedRamp;
  readonly nodes: readonly FaultyNode[];
  /** An address outside, to which nobody has paid yet, and to which it withdraws. */
  readonly outside: string;
}

/** Adds a test behind so many nodes, which may have steps. */
export type AddFunded = (
  title: string,
  nodes: number,
  work: (fronted: FrontedRamp, t: Deno.TestContext) => Promise<void>,
) => void;

/** Makes up an address outside, to which nobody has paid yet. */
export function somebody(): string {
  return getAddress(`0x${crypto.getRandomValues(new Uint8Array(20)).toHex()}`);
}

/** What tests behind as many nodes share. */
interface Opened {
  readonly shared: FundedRamp;
  readonly nodes: readonly FaultyNode[];
}

/**
 * Opens a realm for all tests behind as many nodes; they are the steps of one test. Each has a ramp of its own, and workers
 * that know nothing of the nodes yet.
 */
export function sharingFunded(title: string, options: FundedRampOptions = {}): AddFunded {
  const steps: Parameters<AddFunded>[] = [];
  const opened = new Map<number, Opened>();
  Deno.test(title, async (t) => {
    try {
      for (const [name, count, work] of steps) {
        const ground = opened.get(count) ?? await behind(count, options);
        opened.set(count, ground);
        const { shared, nodes } = ground;
        for (const node of nodes) node.trick = () => undefined;
        const outside = somebody();
        await using funded = await anotherFundedRamp(shared, { ...options, outside });
        await t.step(name, (step) => work({ funded, nodes, outside }, step));
      }
    } finally {
      for (const { shared, nodes } of opened.values()) {
        await shared[Symbol.asyncDispose]();
        for (const node of nodes) await node.abort();
      }
    }
  });
  return (name, count, work) => void steps.push([name, count, work]);
}

async function behind(count: number, options: FundedRampOptions): Promise<Opened> {
  const nodes: FaultyNode[] = [];
  const shared = await openFundedRamp({
    ...options,
    front: (url) => {
      nodes.push(...Array.from({ length: count }, () => startFaultyNode(url)));
      return nodes.map((one) => one.url).join();
    },
  });
  return { shared, nodes };
}
