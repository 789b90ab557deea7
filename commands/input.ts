/**
 * Standard input, from which commands take passwords and addresses with passwords: arguments of a process are seen by every
 * user of its host.
 * @module
 */
import { DatabaseUrl } from "../domain/realms/realm_locations.ts";

/** Stands for standard input in the place of an option's value. */
export const INPUT = "-";
const BYTES_MAX = 1 << 20;
const [INTERRUPT, END, BACKSPACE, LINE_FEED, RETURN, CLEAR, DELETE] = [3, 4, 8, 10, 13, 21, 127];
const INTERRUPTED = 130;

/** What was read: arguments are read twice, before the database is opened and when the command runs. */
let given: Promise<string> | null = null;

/** Reads standard input to its end, once for the process. @throws {TypeError} if it is too long or no text */
export function readInput(): Promise<string> {
  return given ??= readAll();
}

async function readAll(): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, size] = ["", 0];
  for await (const chunk of Deno.stdin.readable) {
    size += chunk.length;
    if (size > BYTES_MAX) throw new TypeError("standard input is longer than 1 MiB");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Reads a secret: the one line of standard input, or on a terminal what is typed there, which is not shown.
 *
 * @param what names it to who types it
 * @param times how often it is to be typed
 * @throws {TypeError} if there is none, or more than a line
 */
export async function readSecret(what: string, times = 1): Promise<string> {
  if (Deno.stdin.isTerminal()) given ??= Promise.resolve().then(() => typeSecret(what, times));
  const line = (await readInput()).replace(/\r?\n$/, "");
  if (line === "") throw new TypeError(`${what} is read from standard input, which is empty`);
  if (/[\r\n]/.test(line)) throw new TypeError(`${what}: standard input has more than one line`);
  return line;
}

function typeSecret(what: string, times: number): string {
  const typed = Array.from(
    { length: times },
    (_, i) => typeLine(i === 0 ? what : "the same again"),
  );
  if (new Set(typed).size > 1) throw new TypeError(`${what}: not the same was typed`);
  return typed[0];
}

/** Reads what is typed, key by key: in this mode the terminal shows nothing, and makes no signals of keys. */
function typeLine(what: string): string {
  const say = (text: string) => Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.stdin.setRaw(true);
  say(`${what}: `); // who types as soon as it is there is not shown either
  try {
    return readKeys();
  } finally {
    Deno.stdin.setRaw(false);
    say("\n");
  }
}

function readKeys(): string {
  const bytes: number[] = [];
  const key = new Uint8Array(1);
  while (Deno.stdin.readSync(key) !== null) {
    const [byte] = key;
    if (byte === LINE_FEED || byte === RETURN || byte === END) break;
    if (byte === INTERRUPT) {
      Deno.stdin.setRaw(false);
      Deno.exit(INTERRUPTED);
    }
    if (byte === CLEAR) bytes.length = 0;
    else if (byte === BACKSPACE || byte === DELETE) removeLast(bytes);
    else bytes.push(byte);
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Removes the last character of a text in UTF-8. */
function removeLast(bytes: number[]): void {
  while (bytes.length > 0 && (bytes.pop()! & 0xc0) === 0x80);
}

/**
 * Reads the address of a database that an option gives: itself, or by `-` standard input. No message shows it.
 *
 * @throws {TypeError} if it is none, or stands in an argument with its password
 */
export async function readAddress(option: string, text: string): Promise<string> {
  if (text !== INPUT) refusePassword(option, text);
  const address = text === INPUT ? await readSecret(`${option} (an address)`) : text;
  const read = DatabaseUrl.safeParse(address);
  if (read.success) return read.data;
  throw new TypeError(`${option}: ${read.error.issues.map(({ message }) => message).join("; ")}`);
}

/** Refuses an address with a password in an argument. @throws {TypeError} */
export function refusePassword(
  option: string,
  address: string,
  instead = `say \`${option} ${INPUT}\`, and give it on standard input`,
): void {
  if ((URL.parse(address)?.password ?? "") === "") return;
  throw new TypeError(
    `${option}: users of this host see arguments, and so its password: ${instead}`,
  );
}
