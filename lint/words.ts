/**
 * Retired words: names that a reader of the field would not know, each with the term in its place.
 * `parts` of words.json are refused wherever one is a word of a camelCase or snake_case name, `whole`
 * as whole names only, because as parts of names they have a good meaning. The tables at the end of
 * docs/glossary.md show the same; a test compares them.
 *
 * @module
 */
import data from "./words.json" with { type: "json" };

/** A word that names no longer contain. */
export interface RetiredWord {
  readonly word: string;
  /** The term of the field. */
  readonly instead: string;
  /** Refused as a whole name only, because as a part of names it has a good meaning. */
  readonly whole: boolean;
}

/** Words of a row, separated by blanks, and the term instead of them. */
type Row = readonly string[];

const { parts, whole }: { parts: Row[]; whole: Row[] } = data;

function wordsOf(list: readonly Row[], whole: boolean): RetiredWord[] {
  return list.flatMap(([words, instead]) =>
    words.split(" ").map((word) => ({ word, instead, whole }))
  );
}

/** All retired words. */
export const RETIRED: readonly RetiredWord[] = [...wordsOf(parts, false), ...wordsOf(whole, true)];

const BY_PART = new Map(RETIRED.filter(({ whole }) => !whole).map((one) => [one.word, one]));
const BY_NAME = new Map(RETIRED.filter(({ whole }) => whole).map((one) => [one.word, one]));
/** Names of others, and names in which the word means something else. */
const EXCEPT: ReadonlySet<string> = new Set(["lookUp", "LOOKS_LIKE_CHAIN"]);

/** Finds the retired word in a name; null if there is none. */
export function retiredIn(name: string): RetiredWord | null {
  if (EXCEPT.has(name)) return null;
  const whole = BY_NAME.get(name);
  if (whole !== undefined) return whole;
  for (const part of name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []) {
    const found = BY_PART.get(part.toLowerCase());
    if (found !== undefined) return found;
  }
  return null;
}

/** Refuses retired words in the names of a file's variables, functions, types and members. */
export const words: Deno.lint.Rule = {
  create(context) {
    return {
      Identifier(node) {
        const found = retiredIn(node.name);
        if (found === null) return;
        context.report({
          node,
          message: `"${found.word}" is a retired word: ${found.instead} is meant`,
          hint: "docs/glossary.md lists the terms.",
        });
      },
    };
  },
};
