/** Bytes of transactions, compared with those that tronweb 6.5.1 makes of the same orders and the same key. */
import { deepEqual, equal, throws } from "node:assert/strict";
import * as ethers from "ethers";
import { ChainError } from "../../../workers/chains/chain.ts";
import { toBase58Address, toHexAddress } from "../../../workers/chains/tron/address_forms.ts";
import { openTron } from "../../../workers/chains/tron/chain.ts";
import {
  bandwidthOf,
  createdBy,
  readSigned,
  type TronRaw,
  writeRaw,
  writeSigned,
} from "../../../workers/chains/tron/transaction.ts";
import { failsAs } from "../conformance.ts";

const OWNER = "41c8599111f29c1e1e061265b4af93ea1f274ad78a";
const ADDRESS = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
const TO = "415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb";
const USDT = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const MOMENT = {
  refBlockBytes: "a1b2",
  refBlockHash: "0123456789abcdef",
  expiration: 1795310861000n,
  timestamp: 1795310801234n,
  memo: "",
  feeLimit: 0n,
};
const PAYMENT: TronRaw = {
  ...MOMENT,
  contract: { type: "TransferContract", owner: OWNER, to: TO, amount: 1_234_567n },
};
const DATA = "a9059cbb0000000000000000000000005cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb" +
  "000000000000000000000000000000000000000000000000000000000096b43f";

/** What tronweb makes. */
const VECTORS: readonly { raw: TronRaw; id: string; hex: string; signature: string }[] = [
  {
    raw: PAYMENT,
    id: "46b55dea16dbefacd9d6c47f6cbc5df3fb1e64c6a5d3b2693d48891b2a7f7e45",
    hex: "0a02a1b222080123456789abcdef40c8f5f686a0345a67080112630a2d747970652e676f6f676c65617069" +
      "732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412320a1541c8599111f29c1e1e" +
      "061265b4af93ea1f274ad78a1215415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb1887ad4b70d2a2f386" +
      "a034",
    signature:
      "56e5d38244ddcb14183b940fe31a904bd5c4876f3ed25005b07460f54b29745e1c0bdda504f23ba83b257a45" +
      "3f0ff14bd0b8d53db25ddf926489c64e1de5c52b1b",
  },
  {
    raw: {
      ...MOMENT,
      feeLimit: 30_000_000n,
      contract: { type: "TriggerSmartContract", owner: OWNER, contract: USDT, data: DATA },
    },
    id: "a5ae6207d8f336df6874c0ed29ba688c12f335b19f96cb3ffcdbe0572db9ec0c",
    hex:
      "0a02a1b222080123456789abcdef40c8f5f686a0345aae01081f12a9010a31747970652e676f6f676c656170" +
      "69732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e747261637412740a1541c85991" +
      "11f29c1e1e061265b4af93ea1f274ad78a121541a614f803b6fd780986a42c78ec9c7f77e6ded13c2244a905" +
      "9cbb0000000000000000000000005cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb00000000000000000000" +
      "0000000000000000000000000000000000000096b43f70d2a2f386a03490018087a70e",
    signature:
      "ff8e8cd9e45250e9cb742f99d4e75f9328960ac8451f0504b202d73c43a824064b4838e0258c275e295e5623" +
      "a29aaeb3fe927ed8460b178566da2337a4d37b631c",
  },
  {
    raw: { ...PAYMENT, memo: "6d656d6f2031" },
    id: "4910c51432c612c5ad7ff445b6b17ece1e424fe24dd89a782c77055cf559866d",
    hex:
      "0a02a1b222080123456789abcdef40c8f5f686a03452066d656d6f20315a67080112630a2d747970652e676f" +
      "6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412320a1541c8" +
      "599111f29c1e1e061265b4af93ea1f274ad78a1215415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb1887" +
      "ad4b70d2a2f386a034",
    signature:
      "d43eefeb5a90afa3cda661c1e707afb9c94c6af6a87cdea6c2ce8cddb1c72cbf4c9c9235591c49dded519acb" +
      "18b6ea00260cab1c76bcd6bad6d6078fd14a6cbb1b",
  },
];

Deno.test("transactions have the bytes, ids and signatures that tronweb gives them", () => {
  const key = new ethers.SigningKey(
    "0xb5a4cea271ff424d7c31dc12a3e43e401df7a40d7412a15750f3f0b6b5449a28",
  );
  for (const { raw, id, hex, signature } of VECTORS) {
    equal(writeRaw(raw), hex);
    const { r, s, v } = key.sign(`0x${id}`);
    equal(r.slice(2) + s.slice(2) + v.toString(16), signature);
    deepEqual(readSigned(ethers, writeSigned(hex, signature)), { raw, id, signature });
  }
  // 203 signed bytes, and 64 for the result.
  equal(bandwidthOf(PAYMENT), 267n);
});

Deno.test("a created contract has the address that tronweb foretells", () => {
  const id = "bf7400696ce4bdefe8236c1abf616153c9a3ff160b08d7790d2d457a46fc15d9";
  equal(createdBy(ethers, id, OWNER), "417fffe075c8c17ead93c5d53c4b9e3e7b41997469");
});

Deno.test("bytes that Purser would not write are not read: another order of fields, more of them, or none", () => {
  const [{ hex, signature }] = VECTORS;
  const foreign = [
    hex.replace("0a02a1b222080123456789abcdef", "22080123456789abcdef0a02a1b2"), // other order
    hex.replace("1887ad4b", "1887ad4b1801"), // two amounts
    `${hex}9a0100`, // an unknown field
    `${hex}90018000`, // a number that is longer than it must be
    hex.slice(0, -2),
    "",
  ];
  for (const one of foreign) {
    throws(() => readSigned(ethers, writeSigned(one, signature)), ChainError, one);
  }
  const whole = writeSigned(hex, signature);
  const twice = whole + whole.slice(-134); // two signatures
  for (const one of [twice, `${whole}2a021801`, `${whole}zz`, whole.slice(2)]) {
    throws(() => readSigned(ethers, one), ChainError, one.slice(-20));
  }
});

Deno.test("addresses convert both ways, and nothing else does", () => {
  equal(toHexAddress(ethers, ADDRESS), TO);
  equal(toBase58Address(ethers, TO), ADDRESS);
  for (
    const other of [
      "TJRabPrwbZy45sbavfcjinPJC18kjpRTv9",
      "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
      TO,
      `${ADDRESS}1`,
      "T",
      "",
    ]
  ) throws(() => toHexAddress(ethers, other), ChainError, other);
  throws(() => toBase58Address(ethers, TO.replace("41", "42")), ChainError);
});

Deno.test("no noop is drafted, and no test network of Bitcoin's is one of Tron", async () => {
  const chain = await openTron("main", ["http://127.0.0.1:1"]);
  await failsAs("unsupported", chain.draft({ kind: "noop", from: ADDRESS }, "medium"));
  chain.close();
  await failsAs("unsupported", openTron("regtest", ["http://127.0.0.1:1"]));
});
