/** The parameter `scope` of lists: which rows an actor asks for. @module */
import type { Visibility } from "../../db/collections/collection.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { rightsOf } from "../permissions.ts";
import { invalidQuery } from "./filter.ts";

function wordsOf(given: unknown): string[] {
  return [given ?? []].flat().flatMap((part) => `${part}`.split(/[\s,]+/))
    .filter((word) => word !== "" && word !== "true");
}

/** Whether `scope` asks for all that its reader may see: by name, or by words that leave no reach. */
export function asksForAll(given: unknown): boolean {
  const words = wordsOf(given);
  const left = words.filter((word) => {
    return /^(own|all|incoming|outgoing)$/.test(word) && !words.includes(`-${word}`);
  });
  return left.includes("all") || (left.length === 0 && words.length > 0);
}

/**
 * Reads `scope`. Names of reaches (own, all, incoming, outgoing) take the place of the default, a
 * leading minus removes one; `deleted` shows deleted entities only, `false` those too. Without any
 * reach left, it is all that the actor may see; lists begin with the actor's own rows.
 */
export function scopeOf(
  actor: Actor,
  given: unknown,
  { flows, shared, one }: { flows: boolean; shared: boolean; one: boolean },
): {
  reaches: Set<Visibility["reaches"][number]>;
  deleted: Visibility["deleted"];
} {
  const words = wordsOf(given);
  const reaches = new Set<Visibility["reaches"][number]>();
  let deleted: Visibility["deleted"] = "no";
  for (const word of words) {
    const name = word.replace(/^-/, "");
    const isReach = name === "own" || name === "all" ||
      (flows && (name === "incoming" || name === "outgoing"));
    if (word === "false") deleted = "too";
    else if (name === "deleted") deleted = word === name ? "only" : "no";
    else if (!isReach) {
      throw invalidQuery("/scope", `unknown scope ${JSON.stringify(word.slice(0, 60))}`);
    } else if (word === name) reaches.add(name);
  }
  for (const word of words) if (word.startsWith("-")) reaches.delete(word.slice(1) as "own");
  if (reaches.has("all") && !reachesRealm(actor)) {
    throw new DomainError("permission.scope", "the scope all takes a user of scope realm");
  }
  if (reaches.size > 0) return { reaches, deleted };
  if (shared) return { reaches: new Set(["all"]), deleted };
  if (words.length === 0 && !one) return { reaches: new Set(["own"]), deleted };
  if (rightsOf(actor).read === "all") return { reaches: new Set(["all"]), deleted };
  const seen = flows ? ["own", "incoming", "outgoing"] as const : ["own"] as const;
  return { reaches: new Set(seen), deleted };
}
