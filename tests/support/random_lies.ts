/** Distortions of a node's answers by chance: whatever a field holds, something else is told in its place. @module */
import type { Random } from "../fuzz/random.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

/** Changes one field of an answer. The answer is a copy, and is changed in place. */
export function distort(random: Random, answer: Json): Json {
  const places: { in: Json; at: string | number }[] = [];
  const collect = (value: Json): void => {
    if (typeof value !== "object" || value === null) return;
    for (const at of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      places.push({ in: value, at });
      collect(value[at]);
    }
  };
  collect(answer);
  if (places.length === 0) return answer;
  const { in: whole, at } = random.pick(places);
  if (random.chance(0.2)) {
    if (Array.isArray(whole)) whole.splice(Number(at), 1);
    else delete whole[at];
  } else if (Array.isArray(whole) && random.chance(0.3)) {
    whole.push(structuredClone(whole[Number(at)]));
  } else whole[at] = otherThan(random, whole[at], places.map((one) => one.in[one.at]));
  return answer;
}

/** Another value of the same kind: one from elsewhere in the answer, or one near by. */
function otherThan(random: Random, value: Json, all: readonly Json[]): Json {
  const alike = all.filter((one) => typeof one === typeof value && one !== value);
  if (alike.length > 0 && random.chance(0.5)) return structuredClone(random.pick(alike));
  switch (typeof value) {
    case "number":
      return random.pick([0, value + 1, Math.max(0, value - 1), value * 2]);
    case "bigint":
      return random.pick([0n, value + 1n, value * 2n]);
    case "boolean":
      return !value;
    case "string":
      return random.pick(["", value.slice(1), changed(random, value)]);
    default:
      return random.pick([null, [], {}]);
  }
}

function changed(random: Random, text: string): string {
  if (text === "") return "00";
  const at = random.below(text.length);
  return text.slice(0, at) + random.pick([..."0123456789abcdef"]) + text.slice(at + 1);
}
