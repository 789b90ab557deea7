/**
 * Readers of node answers that every chain family shares. A node is not trusted: an answer of the wrong
 * shape throws `unavailable`, as if the node had given none, so that another node is asked.
 * @module
 */
import { ChainError } from "./chain.ts";
import { shownBriefly } from "./rpc.ts";

/**
 * Makes the error for an answer of another kind than the question asks for; `expected` begins with an
 * article.
 */
export function malformedAnswer(expected: string, answer: unknown): ChainError {
  const said = shownBriefly(answer);
  return new ChainError(
    "unavailable",
    `the node answered no ${expected.replace(/^an? /, "")}: ${said}`,
  );
}

/** Reads a list. */
export function readList(answer: unknown): unknown[] {
  if (!Array.isArray(answer)) throw malformedAnswer("a list", answer);
  return answer;
}

/** Reads the fields of an object. */
export function readRecord(answer: unknown, expected: string): Record<string, unknown> {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw malformedAnswer(expected, answer);
  }
  return answer as Record<string, unknown>;
}

/** Reads text. */
export function readText(answer: unknown, expected = "text"): string {
  if (typeof answer !== "string") throw malformedAnswer(expected, answer);
  return answer;
}
