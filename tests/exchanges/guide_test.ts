/** Sends the requests of docs/guide/external_ramps.md as they stand, and compares each answer with the one there. */
import { deepEqual, equal } from "node:assert/strict";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { openExchangeFixture } from "../support/exchange_fixture.ts";

const GUIDE = new URL("../../docs/guide/external_ramps.md", import.meta.url);
const EXAMPLE = /```http\n(\w+) (\S+)\n([^`]*)```\n\n```json (\d+)\n([^`]*)```/g;

Deno.test("the requests of docs/guide/external_ramps.md give the documented answers", async () => {
  await using fixture = await openExchangeFixture();
  const { realm, funded } = fixture;
  const names: Record<string, string> = {
    ...{ identity: realm.admin.identity, account: funded.account, ramp: "" },
  };
  const named = (text: string) => text.replace(/<(\w+)>/g, (_, name) => names[name]);
  const examples = [...(await Deno.readTextFile(GUIDE)).matchAll(EXAMPLE)];
  equal(examples.length, 4);
  for (const [, method, path, body, status, documented] of examples) {
    const given = body === "" ? undefined : JSON.parse(named(body));
    const answer = await realm.admin.send(method, named(path), given);
    equal(answer.status, Number(status), `${path}: ${answer.text}`);
    const expected = JSON.parse(documented);
    deepEqual(shownAs(expected, answer.body), expected, path);
    if (path !== "/v1/ramps") continue;
    names.ramp = answer.body.id;
    await checkExternalRamp(fixture.context(), { ramp: names.ramp });
  }
});

/** The parts of an answer that are documented; of a list, as many entries. */
function shownAs(documented: unknown, given: unknown): unknown {
  if (documented === "…") return given === undefined || given === null ? given : "…";
  if (Array.isArray(documented) && Array.isArray(given)) {
    return documented.map((one, i) => shownAs(one, given[i]));
  }
  if (typeof documented !== "object" || documented === null) return given;
  return Object.fromEntries(
    Object.entries(documented).map(([key, one]) => [
      key,
      shownAs(one, (given as Record<string, unknown> | null)?.[key]),
    ]),
  );
}
