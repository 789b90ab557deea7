/**
 * The guides at /docs/guide: every page and every link of them, what their answers allow a browser, and the search in one.
 *
 * @module
 */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { PAGES } from "../../routes/http/guide_pages.ts";
import { findBrowser, startBrowser } from "../support/browser.ts";
import { serve } from "../support/client_fixture.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { stateDiagramsIn } from "../support/state_diagram.ts";

const DOCS = new URL("../../docs/", import.meta.url);
const FOLDERS = ["guide", "operations", "internals", "adr"];
/** Shown elsewhere, or for machines to compare. */
const LEFT_OUT = ["README.md", "licences.md"];

/** What has a state that is set from outside, and no path through states. */
const SWITCHES = ["Asset", "Health"];

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
}

const test = sharing("the guides");

test("every page of the documentation is in the list", async () => {
  const found: string[] = [];
  for (const folder of ["", ...FOLDERS.map((name) => `${name}/`)]) {
    for await (const { name } of Deno.readDir(new URL(folder, DOCS))) {
      if (name.endsWith(".md") && !LEFT_OUT.includes(name)) found.push(folder + name);
    }
  }
  deepEqual([...PAGES.values()].map(({ file }) => file).sort(), found.sort());
});

test("every page is rendered, and every link on it leads to a page and a heading of it", async (realm) => {
  const pages = new Map<string, string>();
  for (const path of ["/docs/guide", ...[...PAGES.keys()].map((name) => `/docs/${name}`)]) {
    const { status, text } = await realm.nobody("GET", path);
    equal(status, 200, path);
    match(text, /<main>\n<h1 id="[\w-]+">/, path);
    ok(!/undefined|\[object/.test(text.replace(/<code>.*?<\/code>/gs, "")), path);
    equal(
      /<(?!\/?(a|b|i|em|strong|code|del|p|pre|h[1-6]|[uo]l|li|div|table|t(head|body|r|h|d)|br|hr|blockquote|figure|details|summary|svg|defs|marker|poly(gon|line)|rect|circle|ellipse|path|line|g|text|tspan)\b)[^>]*>/
        .exec(text.slice(text.indexOf("<main>") + 6, text.indexOf("</main>")))?.[0],
      undefined,
      path,
    );
    pages.set(path, text);
  }
  const broken: string[] = [];
  for (const [path, text] of pages) {
    for (const [, href] of text.matchAll(/href="([^"]+)"/g)) {
      if (/^https:/.test(href) || href === "/docs" || href.startsWith("/docs/assets/")) continue;
      const { pathname, hash } = new URL(href, `http://a${path}`);
      const target = pages.get(pathname);
      const isThere = target !== undefined &&
        (hash === "" || target.includes(`id="${decodeURIComponent(hash.slice(1))}"`));
      if (!isThere) broken.push(`${path}: ${href}`);
    }
  }
  deepEqual(broken, []);
});

test("a page has no script and no style of its own, and its policy allows none", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    app(new Request(`http://a${path}`, { headers }), "127.0.0.1");
  const page = await ask("/docs/guide/deposits");
  const policy = page.headers.get("content-security-policy")!;
  match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/);
  ok(!policy.includes("unsafe"));
  equal(page.headers.get("x-content-type-options"), "nosniff");
  const text = await page.text();
  ok(!/<style|\sstyle=|\son\w+=|<script(?![^>]* src="\/docs\/assets\/)/.test(text));
  match(text, /<a href="\/docs">API reference<\/a>/);
  for (const path of ["/docs/guide/deposits", "/docs/guide", "/docs/assets/search.json"]) {
    const first = await ask(path);
    await first.body?.cancel();
    const tag = first.headers.get("etag")!;
    const again = await ask(path, { "if-none-match": tag });
    deepEqual([again.status, await again.text()], [304, ""], path);
  }
});

test("nothing but the listed pages is shown", async (realm) => {
  for (
    const path of [
      "/docs/guide/nothing",
      "/docs/nothing/deposits",
      "/docs/guide/..%2f..%2fdeno.json",
      "/docs/..%2f/deno.json",
      "/docs/about/licences",
      "/docs/guide/deposits.md",
      "/docs/guide/__proto__",
      "/docs/assets/constructor",
    ]
  ) {
    const { status, body } = await realm.nobody("GET", path);
    deepEqual([status, body.code], [404, "route.not_found"], path);
  }
});

test("what a text says is no HTML, and a diagram is drawn and told in words", async (realm) => {
  const { text } = await realm.nobody("GET", "/docs/guide/external_ramps");
  match(text, /<td><i>begin<\/i><\/td><td>→ <code>PROCESSING<\/code><\/td>/);
  const { text: flow } = await realm.nobody("GET", "/docs/internals/withdrawal");
  match(flow, /<td>Caller<\/td><td>→ routes\/withdrawals<\/td><td>POST \/v1\/withdrawals<\/td>/);
  const { text: start } = await realm.nobody("GET", "/docs/guide/getting_started");
  match(start, /&quot;id&quot;: &quot;&lt;currency&gt;&quot;/);
  for (const name of PAGES.keys()) {
    const { text } = await realm.nobody("GET", `/docs/${name}`);
    const figures = text.split('<figure class="diagram">').slice(1);
    for (const figure of figures) match(figure, /^<div tabindex="0"><svg [^>]*aria-hidden="true">/);
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    deepEqual(ids, [...new Set(ids)], name);
  }
});

test("every state of the document is in the list of states, and drawn where the list says", async (realm) => {
  const { schemas } = (await realm.nobody("GET", "/v1/openapi.json")).body.components;
  const list = await Deno.readTextFile(new URL("guide/states.md", DOCS));
  const told = new Map<string, string[]>();
  for (
    const [, names, states, href] of list.matchAll(/^\| (`.*?`) \| (`.*?`) \| \[.*?\]\((.*?)\)/gm)
  ) {
    const set = codesOf(states).sort();
    for (const name of codesOf(names)) told.set(name, set);
    const page = await Deno.readTextFile(new URL(href, new URL("guide/", DOCS)));
    const drawn = stateDiagramsIn(page).map((one) => [...statesOf(one)].sort().join());
    ok(drawn.includes(set.join()), `${names}: ${drawn.join(" | ")}`);
  }
  const found = new Map<string, string[]>();
  for (const [name, { properties = {} }] of Object.entries<Schema>(schemas)) {
    const states = (properties.status ?? properties.state)?.enum;
    if (states !== undefined && !SWITCHES.includes(name) && !name.endsWith("Part")) {
      found.set(name, states.toSorted());
    }
  }
  deepEqual([...found].sort(), [...told].sort());
});

test("a service below a path of a proxy has its links there", async (realm) => {
  const config = { ...realm.services.config, baseUrl: "https://a.example/ledger/" };
  const app = createApp({ ...realm.services, config }, PLATFORM_KEY);
  const text = await (await app(new Request("http://a.example/docs/guide"), "127.0.0.1")).text();
  match(text, /href="\/ledger\/docs\/guide\/deposits"/);
  ok(!/(?:href|src|data-index)="\/docs/.test(text));
});

Deno.test({
  name: "in a browser a search finds a heading, the dark scheme is dark, and nothing is refused",
  ignore: findBrowser() === null,
  async fn() {
    await using realm = await testRealm();
    await using service = serve(realm);
    await using browser = await startBrowser();
    const { page } = browser;
    await page.open(`${service.url}/docs/guide`);
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    await page.prefer("light");
    const light = await ground();
    await page.prefer("dark");
    notEqual(await ground(), light);
    await page.evaluate(`new Promise((resolve) => {
      new MutationObserver(resolve).observe(search_found, { childList: true });
      search_field.value = "covering a loss";
      search_field.dispatchEvent(new Event("input"));
    })`);
    equal(await page.evaluate("search_found.hidden"), false);
    const [href, title] = await page.evaluate<string[]>(
      "((a) => [a.pathname + a.hash, search_found.innerText])(search_found.querySelector('a'))",
    );
    equal(href, "/docs/operations/solvency#covering-a-loss");
    match(title, /^Covering a loss/);
    await page.open(`${service.url}${href}`);
    equal(await page.evaluate("document.querySelector('[aria-current]').innerText"), "Solvency");
    await page.open(`${service.url}/docs/guide/withdrawals`);
    const [labels, wide, ink, text] = await page.evaluate<[number, string[], string, string]>(
      `(() => {
      const labels = [...document.querySelectorAll(".diagram .edge-label")];
      const isWide = (label) =>
        label.querySelector("text").getBBox().width > label.querySelector("rect").getBBox().width;
      const wide = labels.filter(isWide).map(({ textContent }) => textContent);
      const ink = getComputedStyle(document.querySelector(".diagram .edge-label text")).fill;
      return [labels.length, wide, ink, getComputedStyle(document.body).color];
    })()`,
    );
    equal(labels, 4);
    deepEqual(wide, []);
    equal(ink, text);
    deepEqual(page.faults, []);
  },
});

function codesOf(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code);
}

/** The states between beginning and end that a diagram draws. */
function statesOf(diagram: string): Set<string> {
  const arrows = [...diagram.matchAll(/^ *(\S+) --> ([^\s:]+)/gm)];
  return new Set(arrows.flatMap(([, from, to]) => [from, to]).filter((one) => one !== "[*]"));
}
