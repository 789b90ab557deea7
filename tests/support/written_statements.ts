/** The statements that `db/` writes, as texts that PostgreSQL can plan: parameters stand for values. @module */
import ts from "typescript";

const ROOT = new URL("../../db/", import.meta.url);
const BEGINS = /^(select|insert|update|delete|with)\b/;

/** A statement of the sources. */
export interface WrittenStatement {
  /** Below `db/`, and the function that sends it. */
  at: string;
  text: string;
  /** How many parameters it has. */
  parameters: number;
  /** What is set while it is planned: `name=value`. */
  settings?: readonly string[];
}

/** Reads all statements whose texts are known before they are sent. */
export async function writtenStatements(): Promise<WrittenStatement[]> {
  const found: WrittenStatement[] = [];
  for await (const path of sourcesBelow(ROOT)) {
    const name = path.href.slice(ROOT.href.length, -".ts".length);
    const file = sourceOf(path.href);
    visit(file, file, name, found);
  }
  return found;
}

const SOURCES = new Map<string, ts.SourceFile>();

/** The source at an address, as its file name too. */
function sourceOf(href: string): ts.SourceFile {
  const known = SOURCES.get(href);
  if (known !== undefined) return known;
  const text = Deno.readTextFileSync(new URL(href));
  const file = ts.createSourceFile(href, text, ts.ScriptTarget.Latest, true);
  SOURCES.set(href, file);
  return file;
}

/** What a statement is sent with. */
interface Values {
  count: number;
  /** Whether all of its parts are; some are made by other files, or have several forms. */
  isKnown: boolean;
}

async function* sourcesBelow(folder: URL): AsyncGenerator<URL> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) yield* sourcesBelow(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

function visit(
  node: ts.Node,
  file: ts.SourceFile,
  name: string,
  found: WrittenStatement[],
): void {
  if (ts.isTaggedTemplateExpression(node) && !isPart(node)) {
    const values: Values = { count: 0, isKnown: true };
    const text = textOf(node, file, values).trim();
    if (values.isKnown && BEGINS.test(text)) {
      found.push({
        at: `${name} ${functionAround(node)}`,
        text,
        parameters: values.count,
      });
    }
  }
  ts.forEachChild(node, (child) => visit(child, file, name, found));
}

/** Whether a template stands in another, or is what a function returns for others to write. */
function isPart(node: ts.Node): boolean {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isTaggedTemplateExpression(at)) return true;
    if (ts.isFunctionDeclaration(at)) return !at.modifiers?.some(isAsync);
  }
  return false;
}

function isAsync({ kind }: ts.ModifierLike): boolean {
  return kind === ts.SyntaxKind.AsyncKeyword;
}

function functionAround(node: ts.Node): string {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isFunctionDeclaration(at) && at.name !== undefined) {
      return at.name.text;
    }
  }
  return "";
}

function textOf(
  { template }: ts.TaggedTemplateExpression,
  file: ts.SourceFile,
  values: Values,
): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  let text = template.head.text;
  for (const { expression, literal } of template.templateSpans) {
    text += partOf(expression, text, file, values) + literal.text;
  }
  return text;
}

/** What stands for an expression: the text of a part, columns, or a parameter. */
function partOf(
  expression: ts.Expression,
  before: string,
  file: ts.SourceFile,
  values: Values,
): string {
  if (ts.isTaggedTemplateExpression(expression)) {
    return textOf(expression, file, values);
  }
  if (ts.isConditionalExpression(expression)) {
    const { whenTrue, whenFalse } = expression;
    const part = [whenFalse, whenTrue].find(ts.isTaggedTemplateExpression);
    if (part !== undefined) return textOf(part, file, values);
  }
  if (
    ts.isCallExpression(expression) && ts.isIdentifier(expression.expression)
  ) {
    if (isDatabase(expression.expression)) {
      if (/\bset\s+$/.test(before)) return "created_at = created_at";
      return /\binsert into [\w.]+\s+$/.test(before) ? "default values" : "*";
    }
    const part = returnedBy(expression.expression.text, file);
    if (part !== null) return textOf(part.text, part.file, values);
    if (expression.arguments.some(isDatabase)) values.isKnown = false;
  }
  return `$${++values.count}`;
}

function isDatabase(node: ts.Expression): boolean {
  return ts.isIdentifier(node) && /^(db|tx|sql)$/.test(node.text);
}

/** A part of a statement, and the file that has it. */
interface Part {
  text: ts.TaggedTemplateExpression;
  file: ts.SourceFile;
}

/** The part that a function returns, of the same file or of one that it imports. */
function returnedBy(name: string, file: ts.SourceFile): Part | null {
  for (const statement of file.statements) {
    if (ts.isImportDeclaration(statement) && ts.isStringLiteral(statement.moduleSpecifier)) {
      const names = statement.importClause?.namedBindings;
      if (names === undefined || !ts.isNamedImports(names)) continue;
      if (!names.elements.some((one) => one.name.text === name)) continue;
      const { href } = new URL(statement.moduleSpecifier.text, file.fileName);
      return href.startsWith(ROOT.href) ? returnedBy(name, sourceOf(href)) : null;
    }
    if (!ts.isFunctionDeclaration(statement) || statement.name?.text !== name) continue;
    const last = statement.body?.statements.at(-1);
    const text = last !== undefined && ts.isReturnStatement(last) ? last.expression : undefined;
    if (text !== undefined && ts.isTaggedTemplateExpression(text)) return { text, file };
  }
  return null;
}
