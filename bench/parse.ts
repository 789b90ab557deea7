/**
 * The cost of reading a body beside `JSON.parse` of the same text: every digit is kept, and a megabyte
 * of digits must not hold up the event loop. `deno task bench --only=parse`
 *
 * @module
 */
import { DomainError } from "../domain/errors.ts";
import { parseJson } from "../domain/json.ts";

const MEGABYTE = 1_000_000;
const TIMES = 25;
/** The most that a megabyte of digits may cost: `JSON.parse` takes some 5 ms for it. */
const MUST = 6;

function filled(item: string, most: number): string {
  const count = Math.min(most, Math.floor(MEGABYTE / (item.length + 1)));
  return Array.from({ length: count }, () => item).join();
}

const deep = `[${filled("1", 30_000)}]`;
/** Texts of a megabyte. */
const TEXTS: Readonly<Record<string, string>> = {
  "digits in one list (refused)": `[${filled("1", Infinity)}]`,
  "digits in lists of 30 000": `[${filled(deep, Infinity)}]`,
  "decimals that no double holds": `[${filled("0.1000000000000000000001", 39_000)}]`,
  "numbers of 900 digits": `[${filled("9".repeat(900), Infinity)}]`,
  "integers above 2^53": `[${filled("9007199254740993", 39_000)}]`,
  "members with a number each": `{${
    Array.from({ length: 39_000 }, (_, i) => `"k${i}":{"a":1.50}`).join()
  }}`,
  "text without numbers": JSON.stringify("lorem ipsum ".repeat(80_000)),
};

/** Prints the table. */
export function benchParse(): void {
  console.log("| 1 MB of | bytes | JSON.parse, ms | ours, ms | ratio |\n|---|--:|--:|--:|--:|");
  for (const [name, made] of Object.entries(TEXTS)) {
    // As it comes off the wire: one piece, not the pieces that it was put together from.
    const text = new TextDecoder().decode(new TextEncoder().encode(made));
    const ours: number[] = [], plain: number[] = [];
    for (let i = 0; i < TIMES; i++) {
      plain.push(timed(() => JSON.parse(text)));
      ours.push(timed(() => parseJson(text)));
    }
    // The fastest of many runs is the cost; the others waited for other processes.
    const took = Math.min(...ours), least = Math.min(...plain);
    const verdict = name.startsWith("digits") && took / least > MUST ? ` **over ${MUST}**` : "";
    console.log(
      `| ${name} | ${text.length} | ${least.toFixed(2)} | ${took.toFixed(2)} | ` +
        `${(took / least).toFixed(1)}${verdict} |`,
    );
  }
}

function timed(work: () => unknown): number {
  const start = performance.now();
  try {
    work();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error; // what is refused has been read too
  }
  return performance.now() - start;
}
