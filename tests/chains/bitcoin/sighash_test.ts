import { encodeSigningSerializationBCH, sha256 } from "@bitauth/libauth";
import * as curve from "@bitcoinerlab/secp256k1";
import * as bitcoin from "bitcoinjs-lib";
import { equal } from "node:assert/strict";
import {
  digester,
  type DigestTransaction,
  oldDigester,
  scriptCode,
  SIGHASH_ALL,
  SIGHASH_ALL_FORKID,
} from "../../../workers/chains/bitcoin/sighash.ts";
import { fc } from "../../support/properties.ts";

const { hash256 } = bitcoin.crypto;

const hexOf = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => bytes.toHex());
const script = hexOf(20).map((hash) => `76a914${hash}88ac`);
const amount = fc.bigInt({ min: 1n, max: 21n * 10n ** 14n });
const word = fc.nat({ max: 0xffffffff });
const input = fc.record({ hash: hexOf(32), index: word, sequence: word });
const transaction = fc.record({
  version: fc.constantFrom(1, 2),
  locktime: word,
  inputs: fc.array(input, { minLength: 1, maxLength: 6 }),
  outputs: fc.array(fc.record({ amount, script }), { minLength: 1, maxLength: 6 }),
});

function asBitcoin({ version, locktime, inputs, outputs }: DigestTransaction) {
  const made = new bitcoin.Transaction();
  made.version = version;
  made.locktime = locktime;
  for (const { hash, index, sequence } of inputs) {
    made.addInput(Uint8Array.fromHex(hash).reverse(), index, sequence);
  }
  for (const { amount, script } of outputs) made.addOutput(Uint8Array.fromHex(script), amount);
  return made;
}

Deno.test("the native P2WPKH example of BIP-143 has its digest and signature", () => {
  const raw = bitcoin.Transaction.fromHex(
    "0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000" +
      "00eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a01000000" +
      "00ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac90" +
      "93510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000",
  );
  const whole = {
    version: raw.version,
    locktime: raw.locktime,
    inputs: raw.ins.map(({ hash, index, sequence }) => ({
      hash: hash.toReversed().toHex(),
      index,
      sequence,
    })),
    outputs: raw.outs.map(({ script, value }) => ({ script: script.toHex(), amount: value })),
  };
  const key = Uint8Array.fromHex(
    "619c335025c7f4012e556c2a58b2506e30b8511b53ade95ea316fd8c3286feb9",
  );
  const point = curve.pointFromScalar(key, true);
  equal(point?.toHex(), "025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee6357");
  const program = `0014${bitcoin.crypto.hash160(point!).toHex()}`;
  const spent = { amount: 600_000_000n, script: scriptCode(program) };
  const digest = digester(whole, SIGHASH_ALL, hash256)(1, spent);
  equal(digest.toHex(), "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670");
  const der = bitcoin.script.signature.encode(curve.sign(digest, key), SIGHASH_ALL);
  equal(
    der.toHex(),
    "304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c" +
      "4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee01",
  );
});

Deno.test("digests are those of the library that signs one input at a time", () => {
  fc.assert(fc.property(transaction, amount, script, (whole, held, code) => {
    const library = asBitcoin(whole);
    const digest = digester(whole, SIGHASH_ALL, hash256);
    for (const at of whole.inputs.keys()) {
      const expected = library.hashForWitnessV0(at, Uint8Array.fromHex(code), held, SIGHASH_ALL);
      equal(digest(at, { amount: held, script: code }).toHex(), expected.toHex());
    }
  }));
});

Deno.test("digests from before BIP-143 are those of the library, for many inputs too", () => {
  fc.assert(fc.property(transaction, script, fc.nat({ max: 300 }), (whole, code, more) => {
    const [some] = whole.inputs;
    const inputs = [...whole.inputs, ...Array.from({ length: more }, () => some)];
    const library = asBitcoin({ ...whole, inputs });
    const digest = oldDigester({ ...whole, inputs }, hash256);
    for (const at of [0, inputs.length - 1]) {
      const expected = library.hashForSignature(at, Uint8Array.fromHex(code), SIGHASH_ALL);
      equal(digest(at, code).toHex(), expected.toHex());
    }
  }));
});

Deno.test("digests with the fork id are those of Bitcoin Cash's own library", () => {
  fc.assert(fc.property(transaction, amount, script, (whole, held, code) => {
    const digest = digester(whole, SIGHASH_ALL_FORKID, hash256);
    for (const [at, { hash, index, sequence }] of whole.inputs.entries()) {
      const preimage = encodeSigningSerializationBCH(serialization(whole, {
        outpoint: { hash, index, sequence },
        held,
        code,
      }));
      const expected = sha256.hash(sha256.hash(preimage)).toHex();
      equal(digest(at, { amount: held, script: code }).toHex(), expected);
    }
  }));
});

Deno.test("a signature of Bitcoin Cash is none of Bitcoin", () => {
  const whole = {
    version: 2,
    locktime: 0,
    inputs: [{ hash: "11".repeat(32), index: 0, sequence: 0xffffffff }],
    outputs: [{ amount: 1n, script: `76a914${"22".repeat(20)}88ac` }],
  };
  const spent = { amount: 2n, script: `76a914${"33".repeat(20)}88ac` };
  const [plain, forked] = [SIGHASH_ALL, SIGHASH_ALL_FORKID]
    .map((sighash) => digester(whole, sighash, hash256)(0, spent).toHex());
  equal(plain === forked, false);
});

/** The parts of a preimage as the other library wants them. */
function serialization(
  whole: DigestTransaction,
  { outpoint, held, code }: {
    readonly outpoint: DigestTransaction["inputs"][number];
    readonly held: bigint;
    readonly code: string;
  },
): Parameters<typeof encodeSigningSerializationBCH>[0] {
  const raw = asBitcoin(whole).toBuffer();
  const bytes = (parts: readonly string[]) => Uint8Array.fromHex(parts.join(""));
  const little = (value: number) => {
    const four = new Uint8Array(4);
    new DataView(four.buffer).setUint32(0, value, true);
    return four.toHex();
  };
  const reversed = (hash: string) => Uint8Array.fromHex(hash).reverse().toHex();
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setBigUint64(0, held, true);
  // Outputs stand in the bytes of the transaction between the inputs and the last four.
  const start = 4 + 1 + whole.inputs.length * 41 + 1;
  return {
    correspondingOutput: undefined,
    coveredBytecode: Uint8Array.fromHex(code),
    forkId: new Uint8Array(3),
    locktime: whole.locktime,
    outpointIndex: outpoint.index,
    outpointTransactionHash: Uint8Array.fromHex(outpoint.hash),
    outputTokenPrefix: new Uint8Array(),
    outputValue: eight,
    sequenceNumber: outpoint.sequence,
    signingSerializationType: Uint8Array.of(SIGHASH_ALL_FORKID),
    transactionOutpoints: bytes(
      whole.inputs.map(({ hash, index }) => reversed(hash) + little(index)),
    ),
    transactionOutputs: raw.subarray(start, raw.length - 4),
    transactionSequenceNumbers: bytes(whole.inputs.map(({ sequence }) => little(sequence))),
    transactionUtxos: new Uint8Array(),
    version: whole.version,
  };
}
