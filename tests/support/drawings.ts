/**
 * `deno task drawings` draws the diagrams of docs/ and writes them to docs/drawings.json, by their texts, so that the
 * service shows them without the library that draws. With `--check` it writes nothing and fails where a drawing is not
 * what its page says.
 *
 * @module
 */
import { renderMermaidSVG } from "beautiful-mermaid";
import { answeredHelp } from "../../lint/usages.ts";

const DOCS = new URL("../../docs/", import.meta.url);
const DRAWINGS = new URL("drawings.json", DOCS);
/** The highest share of a label's box that its text takes, and what a letter of 11 px is wide at most on average. */
const BOX_EDGE = 8;
const LETTER = 5.6;

/** Writes the drawings, or compares them; gives the exit code. */
export async function drawings(args: readonly string[]): Promise<number> {
  const texts = new Set<string>();
  for (const page of await pagesBelow(DOCS)) {
    for (const text of diagramsOf(await Deno.readTextFile(page))) texts.add(text);
  }
  const drawn = [...texts].map((text, i) => [text, draw(text, i)]);
  const made = `${JSON.stringify(Object.fromEntries(drawn), null, 1)}\n`;
  if (!args.includes("--check")) {
    await Deno.writeTextFile(DRAWINGS, made);
    return 0;
  }
  if (await Deno.readTextFile(DRAWINGS).catch(() => null) === made) return 0;
  console.error("docs/drawings.json is not what the pages say: run `deno task drawings`");
  return 1;
}

/** The texts of a page's diagrams, as Markdown gives them. */
export function diagramsOf(page: string): string[] {
  return [...page.matchAll(/^```mermaid\n(.*?)\n```$/gms)].map(([, text]) => text);
}

/** Draws a diagram. Its colours are those of the page, and no mark in it has the id of another drawing's. */
export function draw(text: string, number: number): string {
  const svg = renderMermaidSVG(text, { transparent: true })
    .replace(/<style>.*?<\/style>\s*/s, "")
    .replace(/<!--.*?-->\s*/gs, "")
    .replace(/^<svg [^>]*>/, (tag) => tag.replace(/ style="[^"]*"/, ' aria-hidden="true"'))
    .replaceAll(/ data-[\w-]+="[^"]*"/g, "")
    .replaceAll(/(id="|url\(#)/g, `$1d${number}-`)
    .replaceAll(/\d+\.\d{2,}/g, (digits) => `${Math.round(Number(digits) * 10) / 10}`)
    .replaceAll(/\n\s*/g, "");
  return widened(narrowed(svg));
}

/** Keeps a label within its box, whatever the reader's font is. */
function narrowed(svg: string): string {
  return svg.replaceAll(
    /(<rect [^>]* width="([\d.]+)"[^>]*\/>)<text ([^>]*font-size="11"[^>]*)>([^<]*)</g,
    (whole, box, width, attributes, label) => {
      const room = Number(width) - BOX_EDGE;
      if (plain(label).length * LETTER <= room) return whole;
      const fit = `textLength="${Math.round(room)}" lengthAdjust="spacingAndGlyphs"`;
      return `${box}<text ${attributes} ${fit}>${label}<`;
    },
  );
}

/** Makes room at the right for what is written beside the last line. */
function widened(svg: string): string {
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!;
  const ends = [...svg.matchAll(/<text x="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]*)</g)].map(
    ([, x, anchor, label]) =>
      Number(x) + plain(label).length * LETTER * (anchor === "start" ? 1 : 0.5),
  );
  const needed = Math.ceil(Math.max(Number(width), ...ends.map((end) => end + BOX_EDGE)));
  return svg.replace(
    /viewBox="[^"]*" width="[^"]*" height="[^"]*"/,
    `viewBox="0 0 ${needed} ${height}" width="${needed}" height="${height}"`,
  );
}

/** A label as it is read. */
function plain(label: string): string {
  return label.replaceAll(/&#?\w+;/g, "_");
}

async function pagesBelow(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await pagesBelow(new URL(`${name}/`, folder)));
    else if (name.endsWith(".md")) found.push(new URL(name, folder));
  }
  return found.sort((a, b) => a.href < b.href ? -1 : 1);
}

if (import.meta.main && !answeredHelp("drawings")) Deno.exitCode = await drawings(Deno.args);
