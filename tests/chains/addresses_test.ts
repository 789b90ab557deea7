import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { address as bitcoin } from "bitcoinjs-lib";
import {
  checkAddress,
  parseAddress,
  parseContract,
  scriptOf,
} from "../../domain/chains/addresses.ts";
import { allAssets, type ChainId, CHAINS } from "../../domain/assets.ts";
import { fc } from "../support/properties.ts";

const EVM = CHAINS.filter((chain) => chain.family === "evm").map((chain) => chain.id);

async function refusal(chain: ChainId, address: string): Promise<string> {
  const parsed = await parseAddress(chain, "main", address);
  return parsed.ok ? `accepted as ${parsed.address}` : parsed.reason;
}

// The addresses of EIP-55.
const EIP_55 = [
  "0x52908400098527886E0F7030069857D2E4169EE7",
  "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
  "0xde709f2102306220921060314715629080e2fb77",
  "0x27b1fdb04752bbc536007a920d24acb045561c26",
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
];

Deno.test("EVM addresses are accepted in lower case or with a right checksum, kept with one", async () => {
  for (const address of EIP_55) {
    for (const chain of EVM) {
      deepEqual(await parseAddress(chain, "main", address), { ok: true, address });
      deepEqual(await parseAddress(chain, "testnet", address.toLowerCase()), { ok: true, address });
    }
  }
});

Deno.test("an EVM address with the case of one letter changed is refused", async () => {
  for (const address of EIP_55) {
    for (let place = 2; place < address.length; place++) {
      const letter = address[place];
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      const changed = address.slice(0, place) + other + address.slice(place + 1);
      if (other === letter || changed === changed.toLowerCase()) continue;
      match(await refusal("ETHEREUM", changed), /EIP-55/, changed);
    }
  }
});

Deno.test("EVM forms other than 0x and 40 digits are refused", async () => {
  const body = EIP_55[4].slice(2);
  const wrong = [
    body,
    `0X${body}`,
    `0x${body.toUpperCase()}`,
    `0x${body}0`,
    `0x${body.slice(1)}`,
    ` 0x${body}`,
    `0x${body}\n`,
    "XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS",
    "vitalik.eth",
    `0x${"0".repeat(40)}`,
  ];
  for (const address of wrong) match(await refusal("ETHEREUM", address), /^it is|EIP-55/, address);
  match(await refusal("BSC", `0x${"0".repeat(40)}`), /zero address/);
});

Deno.test("the contract of a token is an address of a contract but none to pay to", async () => {
  for (const asset of allAssets()) {
    if (!asset.contract) continue;
    match(await refusal(asset.chain, asset.contract), /is the contract of /, asset.code);
    equal((await parseContract(asset.chain, asset.contract)).ok, true, asset.code);
  }
  match(await refusal("ETHEREUM", "0xdac17f958d2ee523a2206206994597c13d831ec7"), /of USDT,/);
  equal((await parseContract("BITCOIN", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2")).ok, false);
});

Deno.test("Tron takes base58check addresses that start with T and nothing else", async () => {
  const address = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
  deepEqual(await parseAddress("TRON", "main", address), { ok: true, address });
  match(await refusal("TRON", "415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb"), /hexadecimal/);
  match(await refusal("TRON", "0x415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb"), /hexadecimal/);
  match(await refusal("TRON", "0x5cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb"), /Ethereum/);
  match(await refusal("TRON", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"), /another chain/);
  match(await refusal("TRON", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"), /zero address/);
  match(await refusal("TRON", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv9"), /checksum/);
  match(await refusal("TRON", address.toLowerCase()), /checksum|form/);
  const solana = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T";
  match(await refusal("TRON", solana), /form of Solana's/);
});

Deno.test("a Tron address with one changed character is never accepted", async () => {
  const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
  const hash = fc.uint8Array({ minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(hash, fc.nat(), character, async (hash, at, character) => {
      const address = bitcoin.toBase58Check(hash, 0x41);
      const place = at % address.length;
      fc.pre(address[place] !== character && hash.some((byte) => byte !== 0));
      deepEqual(await parseAddress("TRON", "main", address), { ok: true, address });
      const changed = address.slice(0, place) + character + address.slice(place + 1);
      equal((await parseAddress("TRON", "main", changed)).ok, false, changed);
    }),
    { numRuns: 300 },
  );
});

Deno.test("Solana takes the public keys of wallets", async () => {
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });
  await fc.assert(
    fc.asyncProperty(seed, async (seed) => {
      const address = base58.encode(ed25519.getPublicKey(seed));
      deepEqual(await parseAddress("SOLANA", "main", address), { ok: true, address });
    }),
    { numRuns: 50 },
  );
});

Deno.test("Solana refuses derived addresses, programs, mints and texts of other than 32 bytes", async () => {
  match(await refusal("SOLANA", "12rqwuEgBYiGhBrDJStCiqEtzQpTTiZbh7teNVLuYcFA"), /derived/);
  // Neutral element and a point of order 8: on the curve, but nobody's key.
  match(await refusal("SOLANA", base58.encode(Uint8Array.of(1, ...new Uint8Array(31)))), /no key/);
  const order8 = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
  match(await refusal("SOLANA", base58.encode(Uint8Array.fromHex(order8))), /no key/);
  for (
    const program of [
      "11111111111111111111111111111111",
      "So11111111111111111111111111111111111111112",
      "SysvarRent111111111111111111111111111111111",
      "Stake11111111111111111111111111111111111111",
      "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
      "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    ]
  ) {
    match(await refusal("SOLANA", program), /program/, program);
  }
  match(await refusal("SOLANA", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), /Ethereum's form/);
  match(await refusal("SOLANA", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"), /32 bytes.*form of Tron's/);
  const hex = "415cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb";
  match(await refusal("SOLANA", hex), /Tron in hexadecimal/);
  match(await refusal("SOLANA", `0x${hex}`), /Tron in hexadecimal/);
  match(await refusal("SOLANA", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"), /form of Bitcoin's/);
  match(await refusal("SOLANA", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"), /not base58/);
  match(await refusal("SOLANA", base58.encode(new Uint8Array(64).fill(9))), /a transaction/);
  match(await refusal("SOLANA", base58.encode(new Uint8Array(33).fill(9))), /32 bytes/);
});

Deno.test("empty and endless text is refused on every chain", async () => {
  for (const { id } of CHAINS) {
    equal(await refusal(id, ""), "it is empty");
    equal(await refusal(id, "1".repeat(1_000_000)), "it is too long");
  }
});

Deno.test("parsing answers every text and never throws", async () => {
  const codeUnits = fc.uint16Array({ maxLength: 60 }).map((all) => String.fromCharCode(...all));
  const text = fc.oneof(fc.string({ maxLength: 100 }), codeUnits);
  const chain = fc.constantFrom(...CHAINS.map((chain) => chain.id));
  await fc.assert(
    fc.asyncProperty(chain, text, async (chain, text) => {
      equal((await parseAddress(chain, "main", text)).ok, false);
    }),
    { numRuns: 300 },
  );
});

Deno.test("checkAddress() and scriptOf() refuse with address.invalid and the reason", async () => {
  const expected = { name: "DomainError", code: "address.invalid", message: /Bitcoin.*checksum/ };
  const wrong = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3";
  await rejects(checkAddress("BITCOIN", "main", wrong), expected);
  await rejects(scriptOf("BITCOIN", "main", wrong), expected);
  await rejects(scriptOf("ETHEREUM", "main", EIP_55[0]), TypeError);
  equal(await checkAddress("CELO", "main", EIP_55[4].toLowerCase()), EIP_55[4]);
});
