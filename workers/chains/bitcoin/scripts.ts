/**
 * Converts addresses to the scripts of outputs. A watch list is converted once, so that a block's
 * outputs are compared as text and no address is encoded while scanning.
 * @module
 */
import { type Network, scriptOf } from "../../../domain/chains/addresses.ts";
import type { WatchList } from "../observations.ts";
import type { CoinChainId, CoinTable } from "./networks.ts";

/** Turns addresses into scripts. */
export interface Scripts {
  /** The script of an address, in hexadecimal. */
  script(address: string): Promise<string>;
  /** Scripts of all addresses of a watch list, with the addresses. */
  index(watch: WatchList): Promise<ReadonlyMap<string, string>>;
}

/** Scripts kept between watch lists, so that one more address costs one more script. */
const KEPT_MAX = 1_000_000;
/** Addresses converted between two pauses for other work. */
const AT_ONCE = 1_000;

/** Makes an index of scripts. */
export function openScripts(chain: CoinChainId, network: Network): Scripts {
  const indexes = new WeakMap<WatchList, Promise<ReadonlyMap<string, string>>>();
  const kept = new Map<string, string>();
  async function script(address: string): Promise<string> {
    const known = kept.get(address);
    if (known !== undefined) return known;
    const made = toHex(await scriptOf(chain, network, address));
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(address, made);
    return made;
  }
  async function build(watch: WatchList): Promise<ReadonlyMap<string, string>> {
    const index = new Map<string, string>();
    let made = 0;
    for (const address of watch.addresses) {
      const known = kept.get(address);
      index.set(known ?? await script(address), address);
      if (known !== undefined || ++made % AT_ONCE !== 0) continue;
      await new Promise((resolve) => setTimeout(resolve));
    }
    return index;
  }
  return {
    script,
    index: (watch) => {
      const known = indexes.get(watch);
      if (known) return known;
      const made = build(watch);
      indexes.set(watch, made);
      made.catch(() => indexes.delete(watch));
      return made;
    },
  };
}

/** Tells whether a script, in hexadecimal, is of the kind that locks our own coins. */
export function isOurKind(table: CoinTable, script: string): boolean {
  return table.witness
    ? /^0014[0-9a-f]{40}$/.test(script)
    : /^76a914[0-9a-f]{40}88ac$/.test(script);
}

/** Gives the smallest amount that nodes relay to a script. */
export function dustOf(table: CoinTable, script: string): bigint {
  const size = 8 + 1 + script.length / 2;
  const spending = isWitness(script) ? 67 : 148;
  const measured = (table.dust.rate * BigInt(size + spending) + 999n) / 1000n;
  return measured > table.dust.least ? measured : table.dust.least;
}

/** Tells whether a script is a witness program: a version, and one push of 2 to 40 bytes. */
function isWitness(script: string): boolean {
  const bytes = script.length / 2;
  return /^(00|5[1-9a-f]|60)/.test(script) && bytes >= 4 && bytes <= 42 &&
    script.slice(2, 4) === (bytes - 2).toString(16).padStart(2, "0");
}

/** Writes bytes in hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return bytes.toHex();
}

/** Reads hexadecimal. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex(text);
}
