/**
 * The examples of the OpenAPI document: a walk through the API makes them anew, and they are as they were. With
 * `EXAMPLES=write` they are written instead.
 */
import { deepEqual, equal } from "node:assert/strict";
import { describe } from "../../routes/http/openapi.ts";
import { type Examples, readExamples } from "../../routes/http/openapi_examples.ts";
import { operationId } from "../../routes/http/openapi_names.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { at, type Json, judgeOf } from "../fuzz/document.ts";
import { walkAll, type Walked } from "./scenario.ts";

const FILE = new URL("../../routes/http/examples.json", import.meta.url);
const IS_WRITTEN = Deno.env.get("EXAMPLES") === "write";
/** Operations that need a node of Litecoin. */
const OF_COINS = [
  ...["consolidateAccount", "listConsolidations", "getConsolidation", "speedUpConsolidation"],
  "createCover",
];
/** Answers without an example, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  "getReferenceAsset text/html": "no asset is a page",
  "getReferenceAsset text/css": "a style",
  "getReferenceAsset application/json": "the index of the search",
  "getReferenceAsset image/svg+xml": "a picture",
};

let walking: Promise<Walked> | undefined;
/** Walks once for the tests that look at it. */
const walk = () => walking ??= walkAll();

Deno.test("the examples of the OpenAPI document are what the service is sent and answers", async () => {
  const { examples, isWhole } = await walk();
  const sorted = inOrder(examples);
  if (IS_WRITTEN) {
    equal(isWhole, true, "examples are written where a node of Litecoin is installed");
    await Deno.writeTextFile(FILE, `${JSON.stringify(sorted, null, 1)}\n`);
    return;
  }
  const written: Examples = await readExamples();
  const compared = Object.entries(written).filter(([name]) => isWhole || !OF_COINS.includes(name));
  deepEqual(differences(Object.fromEntries(compared), sorted), []);
});

Deno.test("no operation that changes something is open to a user who only sees what it takes, nor to one who does not see it", async () => {
  if (IS_WRITTEN) return;
  const { others: { faults, untried }, isWhole } = await walk();
  deepEqual(faults, []);
  deepEqual(untried.filter((operation) => isWhole || !OF_COINS.includes(operation)), []);
});

/** Where two values differ, and how. */
function differences(before: Json, now: Json, place = ""): string[] {
  const isPart = (value: Json) => typeof value === "object" && value !== null;
  if (!isPart(before) || !isPart(now)) {
    if (before === now) return [];
    return [`${place}: ${JSON.stringify(now)}, before ${JSON.stringify(before)}`];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) => differences(before[name], now[name], `${place}/${name}`));
}

/** In the order of the document; each operation's further examples after its own. */
function inOrder(examples: Examples): Examples {
  const names = allRoutes().map(operationId);
  const place = (name: string) => names.indexOf(name.split(" ")[0]);
  return Object.fromEntries(
    Object.entries(examples).sort(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1)),
  );
}

Deno.test("every operation has an example of what it takes and of what it answers, and its schemas take them", async () => {
  if (IS_WRITTEN) return; // those before are still loaded
  const document = JSON.parse(JSON.stringify(describe(allRoutes(), {
    examples: await readExamples(),
  })));
  const judge = judgeOf(document);
  const faults: string[] = [];
  for (const { name, media, isAnswer } of mediaOf(document)) {
    if (Object.hasOwn(WITHOUT, name)) continue;
    if (!("example" in media)) faults.push(`${name}: no example`);
    else if (isAnswer) {
      const fault = judge.answer(media.schema, media.example, false);
      if (fault !== null) faults.push(`${name}: ${fault}`);
    } else if (!judge.accepts(media.schema, media.example)) faults.push(`${name}: not accepted`);
  }
  deepEqual(faults, []);
});

interface Media {
  name: string;
  media: Json;
  isAnswer: boolean;
}

/** Bodies and answers of the document, and parameters with an example. */
function mediaOf(document: Json): Media[] {
  const found: Media[] = [];
  for (const item of Object.values<Json>(document.paths)) {
    for (
      const { operationId: id, requestBody, responses, parameters } of Object.values<Json>(item)
    ) {
      for (const media of Object.values<Json>(requestBody?.content ?? {})) {
        found.push({ name: `${id} body`, media, isAnswer: false });
      }
      for (const media of parameters.filter((one: Json) => "example" in one)) {
        found.push({ name: `${id} ${media.name}`, media, isAnswer: false });
      }
      for (const [status, answer] of Object.entries<Json>(responses)) {
        const { content = {} } = answer.$ref === undefined ? answer : at(document, answer.$ref);
        for (const [type, media] of Object.entries<Json>(content)) {
          const name = /^[23]/.test(status) ? `${id} ${type}` : `${id} ${status}`;
          found.push({ name, media, isAnswer: true });
        }
      }
    }
  }
  for (const [type, { post }] of Object.entries<Json>(document.webhooks)) {
    const media = post.requestBody.content["application/json"];
    // What no route shows has none.
    if ("example" in media) found.push({ name: type, media, isAnswer: true });
  }
  return found;
}
