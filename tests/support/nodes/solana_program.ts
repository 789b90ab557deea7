/**
 * A program of Solana, written by its bytes, that passes an instruction on to another program: what it moves is moved by
 * an inner instruction.
 * @module
 */
import { Keypair, TransactionInstruction } from "@solana/web3.js";
import type { Surfpool } from "./surfpool.ts";

/** Its account holds the program's file itself. */
const LOADER = "BPFLoader2111111111111111111111111111111111";
const INPUT = 0x4_0000_0000n;
/** Of an account in a program's input: from its start to the parts of it, and bytes that it may grow by. */
const PARTS = { key: 8, owner: 40, lamports: 72, data: 88 } as const;
const GROWTH = 10_240;
/** Where on its stack the program puts the instruction, its data, and its accounts in two forms. */
const STACK = { instruction: 0, data: 64, metas: 128, infos: 512 } as const;
const FRAME = 2_048;

/** Puts a program onto a node that carries out one instruction, and gives the instruction that calls it. */
export async function throughProgram(
  node: Surfpool,
  inner: TransactionInstruction,
): Promise<TransactionInstruction> {
  const program = Keypair.generate().publicKey;
  const called = { pubkey: inner.programId, isSigner: false, isWritable: false };
  const keys = [...inner.keys, called];
  const lengths: number[] = [];
  for (const { pubkey } of keys) {
    const how = { encoding: "base64", commitment: "processed" };
    const { value } = await node.raw<{ value: { data: [string] } | null }>(
      "getAccountInfo",
      pubkey.toBase58(),
      how,
    );
    lengths.push(value === null ? 0 : atob(value.data[0]).length);
  }
  const data = fileOf(codeOf(inner, lengths)).toHex();
  await node.raw("surfnet_setAccount", program.toBase58(), {
    ...{ lamports: 1_000_000_000, data, owner: LOADER, executable: true },
  });
  return new TransactionInstruction({ programId: program, keys });
}

/** An instruction of the machine: its number, registers, offset and operand. */
function step(code: number, [to, from]: [number, number], offset = 0, operand = 0): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  bytes.set([code, to | from << 4]);
  view.setInt16(2, offset, true);
  view.setInt32(4, operand, true);
  return bytes;
}

/** Writes 64 bits to the stack. */
function puts(at: number, value: bigint): Uint8Array[] {
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  return [step(0x18, [2, 0], 0, low), step(0, [0, 0], 0, high), step(0x7b, [9, 2], at)];
}

/** Writes the address of a place of the stack to the stack. */
function putsPlace(at: number, place: number): Uint8Array[] {
  return [step(0xbf, [2, 9]), step(0x07, [2, 0], 0, place), step(0x7b, [9, 2], at)];
}

function putsBytes(at: number, bytes: readonly number[]): Uint8Array[] {
  return bytes.map((byte, next) => step(0x72, [9, 0], at + next, byte));
}

/** Its last call but one is that of the system function, which the file names. */
function codeOf(inner: TransactionInstruction, lengths: readonly number[]): Uint8Array[] {
  const starts: bigint[] = [];
  let start = INPUT + 8n;
  for (const length of lengths) {
    starts.push(start);
    start += BigInt(PARTS.data + Math.ceil((length + GROWTH) / 8) * 8 + 8);
  }
  const { keys, data } = inner;
  const part = (at: number, name: keyof typeof PARTS) => starts[at] + BigInt(PARTS[name]);
  const { instruction, metas, infos } = STACK;
  return [
    ...[step(0xbf, [9, 10]), step(0x07, [9, 0], 0, -FRAME)],
    ...puts(instruction, part(keys.length, "key")),
    ...putsPlace(instruction + 8, metas),
    ...puts(instruction + 16, BigInt(keys.length)),
    ...putsPlace(instruction + 24, STACK.data),
    ...puts(instruction + 32, BigInt(data.length)),
    ...putsBytes(STACK.data, [...data]),
    ...keys.flatMap(({ isSigner, isWritable }, at) => [
      ...puts(metas + 16 * at, part(at, "key")),
      ...putsBytes(metas + 16 * at + 8, [Number(isWritable), Number(isSigner)]),
    ]),
    ...lengths.flatMap((length, at) => {
      const to = infos + 56 * at;
      const { isSigner = false, isWritable = false } = keys[at] ?? {};
      const flags = [isSigner, isWritable, at === keys.length].map(Number);
      return [
        ...puts(to, part(at, "key")),
        ...puts(to + 8, part(at, "lamports")),
        ...puts(to + 16, BigInt(length)),
        ...puts(to + 24, part(at, "data")),
        ...puts(to + 32, part(at, "owner")),
        ...puts(to + 40, 2n ** 64n - 1n),
        ...putsBytes(to + 48, flags),
      ];
    }),
    ...[step(0xbf, [1, 9]), step(0x07, [1, 0], 0, instruction)],
    ...[step(0xbf, [2, 9]), step(0x07, [2, 0], 0, infos)],
    ...[step(0xb7, [3, 0], 0, lengths.length), step(0xb7, [4, 0]), step(0xb7, [5, 0])],
    ...[step(0x85, [0, 1], 0, -1), step(0x95, [0, 0])],
  ];
}

const FUNCTION = "sol_invoke_signed_c";
/** Bytes of the file's head, and of each entry of its tables. */
const SIZES = { head: 64, segment: 56, section: 64, symbol: 24 } as const;

/** Makes the program's file, in ELF. */
function fileOf(steps: readonly Uint8Array[]): Uint8Array {
  const names = ["", ".text", ".dynamic", ".dynsym", ".dynstr", ".rel.dyn", ".shstrtab"];
  const text = SIZES.head + 3 * SIZES.segment;
  const at = { text, dynamic: text + 8 * steps.length, dynsym: 0, dynstr: 0, rel: 0, names: 0 };
  at.dynsym = at.dynamic + 7 * 16;
  at.dynstr = at.dynsym + 2 * SIZES.symbol;
  at.rel = at.dynstr + Math.ceil((FUNCTION.length + 2) / 8) * 8;
  at.names = at.rel + 16;
  const sections = at.names + 64;
  const file = new Uint8Array(sections + names.length * SIZES.section);
  const view = new DataView(file.buffer);
  const words = (from: number, ...all: (number | bigint)[]) =>
    all.forEach((one, next) => view.setBigUint64(from + 8 * next, BigInt(one), true));
  const half = (...all: number[]) =>
    all.reduce((sum, one, next) => sum | BigInt(one) << BigInt(16 * next), 0n);
  const pair = (low: number, high: number) => BigInt(low) | BigInt(high) << 32n;
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  words(16, half(3, 247, 1, 0), at.text, SIZES.head, sections);
  words(48, half(0, 0, SIZES.head, SIZES.segment), half(3, SIZES.section, names.length, 6));
  const segment = (number: number, [kind, flags]: [number, number], from: number, to: number) =>
    words(
      SIZES.head + SIZES.segment * number,
      ...[pair(kind, flags), from, from, from, to - from, to - from, 8],
    );
  segment(0, [1, 5], at.text, at.dynamic);
  segment(1, [1, 4], at.dynamic, at.names);
  segment(2, [2, 4], at.dynamic, at.dynsym);
  file.set(steps.flatMap((one) => [...one]), at.text);
  const relations = [6, at.dynsym, 5, at.dynstr, 10, FUNCTION.length + 2, 17, at.rel, 18, 16];
  words(at.dynamic, ...relations, 19, 16, 0, 0);
  words(at.dynsym + SIZES.symbol, pair(1, 0x10));
  file.set(new TextEncoder().encode(FUNCTION), at.dynstr + 1);
  words(at.rel, at.dynamic - 16, pair(10, 1));
  const kinds = [0, 1, 6, 11, 3, 9, 3];
  const froms = [0, at.text, at.dynamic, at.dynsym, at.dynstr, at.rel, at.names, sections];
  let name = 1;
  for (const [number, title] of names.entries()) {
    if (number === 0) continue;
    file.set(new TextEncoder().encode(title), at.names + name);
    const to = sections + SIZES.section * number;
    const flags = number === 1 ? 6 : 2;
    words(to, pair(name, kinds[number]), flags, froms[number], froms[number]);
    words(to + 32, froms[number + 1] - froms[number], pair(number === 3 ? 4 : 0, 0), 8, 16);
    name += title.length + 1;
  }
  return file;
}
