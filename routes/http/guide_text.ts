/**
 * Pages of the documentation as HTML: links lead to other pages, headings have anchors, diagrams are drawn without a
 * script, and nothing in a text is taken for HTML.
 * @module
 */
import { Marked, type Token, type Tokens } from "marked";
import drawings from "../../docs/drawings.json" with { type: "json" };
import { nameOf, PAGES } from "./guide_pages.ts";

/** A page as it is shown. */
export interface GuideText {
  readonly title: string;
  readonly html: string;
  /** Its parts, for the search: heading, anchor and text. */
  readonly parts: readonly { readonly title: string; readonly at: string; readonly text: string }[];
}

/** Makes the HTML of a page; `base` is the path under which the service is reached. */
export function renderGuide(file: string, text: string, base: string): GuideText {
  const anchor = openAnchors();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        const id = escape(anchor(text));
        const inner = this.parser.parseInline(tokens);
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = targetOf(file, href, base);
        return target === null ? inner : `<a href="${escape(target)}">${inner}</a>`;
      },
      code({ text, lang }) {
        if (lang === "mermaid") return diagramOf(text);
        return `<pre tabindex="0"><code>${escape(text)}</code></pre>\n`;
      },
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${
            cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join(
              "",
            )
          }</tr>`;
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, "th")}</thead>` +
          `<tbody>${token.rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>\n`;
      },
      html: ({ text }) => escape(text),
      image: ({ text }) => escape(text),
    },
  });
  const tokens = marked.lexer(text);
  return {
    title: plain(tokens.find(({ type }) => type === "heading") as Token),
    html: marked.parser(tokens),
    parts: partsOf(tokens),
  };
}

/** Gives headings their anchors, as the pages' links have them; a title that comes again gets a number. */
function openAnchors(): (title: string) => string {
  const known = new Map<string, number>();
  return (title) => {
    const anchor = title.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const times = known.get(anchor) ?? 0;
    known.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
}

/** Where a link leads; null where the service does not show what it leads to. */
function targetOf(file: string, href: string, base: string): string | null {
  if (/^https?:/.test(href) || href.startsWith("#")) return href;
  const { pathname, hash } = new URL(href, `http://docs/docs/${file}`);
  const target = pathname.replace(/^\/docs\//, "");
  if (target === "README.md") return `${base}/docs/guide`;
  const name = nameOf(target);
  return pathname.startsWith("/docs/") && PAGES.has(name) ? `${base}/docs/${name}${hash}` : null;
}

/** Shows a diagram as it was drawn (`deno task drawings`), and in words for a reader who does not see it. */
function diagramOf(text: string): string {
  const drawing = (drawings as Readonly<Record<string, string>>)[text] ?? "";
  return `<figure class="diagram"><div tabindex="0">${drawing}</div><details><summary>In words</summary>${
    inWords(text)
  }</details></figure>\n`;
}

/** A diagram of states, or a sequence, as a table; others as they are written. */
function inWords(text: string): string {
  const [kind, ...lines] = text.split("\n").map((line) => line.trim()).filter((line) =>
    line !== ""
  );
  const isStates = kind === "stateDiagram-v2";
  if (!isStates && kind !== "sequenceDiagram") return `<pre><code>${escape(text)}</code></pre>`;
  const names = new Map<string, string>();
  const rows: string[] = [];
  for (const line of lines) {
    const [, id, name = id] = /^participant (\w+)(?: as (.*))?$/.exec(line) ?? [];
    if (id !== undefined) names.set(id, name);
    else if (line !== "end") rows.push(isStates ? transition(line) : message(line, names));
  }
  const head = isStates ? ["from", "to", "when"] : ["from", "to", "what"];
  return `<div class="table" tabindex="0"><table><thead><tr>${
    head.map((one) => `<th>${one}</th>`).join("")
  }</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function transition(line: string): string {
  const [, from, to, when = ""] = /^(\S+) --> (\S+?)(?:: (.*))?$/.exec(line) ?? [];
  const state = (name: string, end: string) =>
    name === "[*]" ? `<i>${end}</i>` : `<code>${escape(name)}</code>`;
  return `<tr><td>${state(from, "begin")}</td><td>→ ${state(to, "end")}</td><td>${
    escape(when)
  }</td></tr>`;
}

function message(line: string, names: ReadonlyMap<string, string>): string {
  const said = /^(\w+)--?>>(\w+): (.*)$/.exec(line);
  if (said === null) {
    const note = line.replace(/^Note over [\w,]+: /, "").replace(/^else$/, "otherwise");
    return `<tr><td colspan="3"><i>${escape(note)}</i></td></tr>`;
  }
  const [from, to] = [said[1], said[2]].map((id) => escape(names.get(id) ?? id));
  return `<tr><td>${from}</td><td>${said[1] === said[2] ? "" : `→ ${to}`}</td><td>${
    escape(said[3])
  }</td></tr>`;
}

function partsOf(tokens: readonly Token[]): GuideText["parts"] {
  const anchor = openAnchors();
  const parts: { title: string; at: string; text: string }[] = [];
  for (const token of tokens) {
    if (token.type === "heading") {
      const at = anchor((token as Tokens.Heading).text);
      parts.push({ title: plain(token), at, text: "" });
    } else if (token.type !== "space" && parts.length > 0) {
      parts[parts.length - 1].text += `${plain(token)} `;
    }
  }
  return parts;
}

/** The words of a token, without its marks. */
function plain(token: Token): string {
  if ("tokens" in token && token.tokens !== undefined) return token.tokens.map(plain).join("");
  if (token.type === "list") return (token as Tokens.List).items.map(plain).join(" ");
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flat().map(({ tokens }) => tokens.map(plain).join("")).join(" ");
  }
  return "text" in token ? token.text : "";
}

/** Makes a text safe in HTML. */
export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
