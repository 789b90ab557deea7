/**
 * Protocol Buffers as java-tron writes them: fields in order of their numbers, defaults left out.
 * Bytes are hex text and integers are bigint, so a decoded message prints as the node's JSON.
 * @module
 */

/** A value of a field. */
export type Value = string | bigint | boolean | Message | readonly Value[];

/** A message by the names of its fields; a default may be absent. */
export interface Message {
  readonly [field: string]: Value | undefined;
}

/** A type that a field may have. */
export type Kind =
  | "bytes"
  | "string"
  | "integer"
  | "bool"
  | { readonly values: Readonly<Record<string, number>> }
  | { readonly fields: readonly Field[] };

/** One field of a message. */
export interface Field {
  readonly name: string;
  readonly number: number;
  readonly kind: Kind;
  readonly repeated?: boolean;
}

/** A message, or a value in it, that is not well formed. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

const VARINT = 0;
const DELIMITED = 2;
const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/** Makes a field. */
export function field(name: string, number: number, kind: Kind, repeated = false): Field {
  return { name, number, kind, repeated };
}

/** Writes a message. Gives hex. */
export function encode(fields: readonly Field[], message: Message): string {
  let hex = "";
  for (const one of [...fields].sort((a, b) => a.number - b.number)) {
    const value = message[one.name];
    if (value === undefined) continue;
    const values = one.repeated ? value as readonly Value[] : [value];
    for (const each of values) {
      if (!one.repeated && isDefault(one.kind, each)) continue;
      hex += encodeField(one, each);
    }
  }
  return hex;
}

function isDefault(kind: Kind, value: Value): boolean {
  if (typeof kind === "object" && "values" in kind) return kind.values[value as string] === 0;
  return value === "" || value === 0n || value === false;
}

function encodeField({ name, number, kind }: Field, value: Value): string {
  const tag = (wire: number) => varint(BigInt(number << 3 | wire));
  if (kind === "integer") return tag(VARINT) + varint(BigInt.asUintN(64, value as bigint));
  if (kind === "bool") return tag(VARINT) + (value === true ? "01" : "00");
  if (typeof kind === "object" && "values" in kind) {
    const known = kind.values[value as string];
    if (known === undefined) throw new MalformedMessage(`${name}: ${value} is no value of it`);
    return tag(VARINT) + varint(BigInt(known));
  }
  const hex = typeof kind === "object"
    ? encode(kind.fields, value as Message)
    : kind === "string"
    ? new TextEncoder().encode(value as string).toHex()
    : value as string;
  return tag(DELIMITED) + varint(BigInt(hex.length / 2)) + hex;
}

function varint(value: bigint): string {
  const bytes: number[] = [];
  do {
    const low = Number(value & 0x7fn);
    value >>= 7n;
    bytes.push(value > 0n ? low | 0x80 : low);
  } while (value > 0n);
  return new Uint8Array(bytes).toHex();
}

/**
 * Reads a message.
 * @throws {MalformedMessage} also for a field that the schema does not have
 */
export function decode(fields: readonly Field[], hex: string): Message {
  if (!HEX.test(hex)) throw new MalformedMessage("INVALID hex String");
  const bytes = Uint8Array.fromHex(hex);
  const message: Record<string, Value> = {};
  let at = 0;
  function integer(): bigint {
    for (let value = 0n, shift = 0n;; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw new MalformedMessage("a varint has no end");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  }
  while (at < bytes.length) {
    const tag = Number(integer());
    const known = fields.find(({ number }) => number === tag >> 3);
    if (!known) throw new MalformedMessage(`field ${tag >> 3} is unknown`);
    const delimited = known.kind === "bytes" || known.kind === "string" ||
      (typeof known.kind === "object" && "fields" in known.kind);
    if ((tag & 7) !== (delimited ? DELIMITED : VARINT)) {
      throw new MalformedMessage(`${known.name} has another wire type`);
    }
    const first = integer();
    let value: Value;
    if (delimited) {
      const end = at + Number(first);
      if (end > bytes.length) throw new MalformedMessage(`${known.name} is cut off`);
      value = readDelimited(known.kind, bytes.subarray(at, end).toHex());
      at = end;
    } else value = readVarint(known, first);
    message[known.name] = known.repeated
      ? [...(message[known.name] as Value[] | undefined ?? []), value]
      : value;
  }
  return message;
}

function readDelimited(kind: Kind, hex: string): Value {
  if (kind === "string") return new TextDecoder().decode(Uint8Array.fromHex(hex));
  return typeof kind === "object" && "fields" in kind ? decode(kind.fields, hex) : hex;
}

function readVarint({ name, kind }: Field, value: bigint): Value {
  if (kind === "bool") return value !== 0n;
  if (typeof kind === "object" && "values" in kind) {
    const known = Object.entries(kind.values).find(([, number]) => BigInt(number) === value);
    if (!known) throw new MalformedMessage(`${name}: ${value} is no value of it`);
    return known[0];
  }
  return BigInt.asIntN(64, value);
}

/**
 * Reads a message from JSON as java-tron's JsonFormat does with `visible: false`: bytes are hex, a
 * field that the schema does not have is skipped.
 * @throws {MalformedMessage} for a value of another type
 */
export function fromJson(fields: readonly Field[], json: unknown): Message {
  if (typeof json !== "object" || json === null) throw new MalformedMessage("no object");
  const given = json as Readonly<Record<string, unknown>>;
  const message: Record<string, Value> = {};
  for (const { name, kind, repeated } of fields) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    if (repeated && !Array.isArray(value)) throw new MalformedMessage(`${name} is no array`);
    message[name] = repeated
      ? (value as unknown[]).map((each) => valueFromJson(name, kind, each))
      : valueFromJson(name, kind, value);
  }
  return message;
}

function valueFromJson(name: string, kind: Kind, value: unknown): Value {
  if (typeof kind === "object" && "fields" in kind) return fromJson(kind.fields, value);
  if (kind === "integer" && (typeof value === "bigint" || /^-?\d+$/.test(String(value)))) {
    return BigInt(value as string);
  }
  if (kind === "bool" && typeof value === "boolean") return value;
  if (kind === "string" && typeof value === "string") return value;
  if (kind === "bytes" && typeof value === "string" && HEX.test(value)) return value.toLowerCase();
  if (typeof kind === "object" && typeof value === "string" && value in kind.values) return value;
  throw new MalformedMessage(`${name}: ${String(value)} is not of its type`);
}
