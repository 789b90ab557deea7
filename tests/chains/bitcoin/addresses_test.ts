import { deepEqual, equal, match } from "node:assert/strict";
import { encodeCashAddress } from "@bitauth/libauth";
import { address as bitcoin } from "bitcoinjs-lib";
import { type Network, parseAddress, scriptOf } from "../../../domain/chains/addresses.ts";
import { type ChainId, CHAINS } from "../../../domain/assets.ts";
import { writeBitcoin } from "../../../domain/chains/bitcoin_addresses.ts";
import { fc } from "../../support/properties.ts";

const NETWORKS: Network[] = ["main", "testnet", "signet", "regtest"];
const UTXO = CHAINS.filter((chain) => chain.family === "bitcoin").map((chain) => chain.id);

async function refusal(chain: ChainId, network: Network, address: string): Promise<string> {
  const parsed = await parseAddress(chain, network, address);
  return parsed.ok ? `accepted as ${parsed.address}` : parsed.reason;
}

/** Lists the "CHAIN network" pairs that accept an address. */
async function homes(address: string): Promise<string[]> {
  const found: string[] = [];
  for (const chain of UTXO) {
    for (const network of NETWORKS) {
      if ((await parseAddress(chain, network, address)).ok) found.push(`${chain} ${network}`);
    }
  }
  return found;
}

// BIP-350, BIP-341 wallet vectors, and well-known base58 addresses: address, output script.
const VALID: [ChainId, Network, string, string][] = [
  [
    "BITCOIN",
    "main",
    "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
    "0014751e76e8199196d454941c45d1b3a323f1433bd6",
  ],
  [
    "BITCOIN",
    "testnet",
    "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
    "00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262",
  ],
  [
    "BITCOIN",
    "signet",
    "tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
    "0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
  ],
  [
    "BITCOIN",
    "testnet",
    "tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
    "5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
  ],
  [
    "BITCOIN",
    "main",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
  ],
  [
    "BITCOIN",
    "main",
    "bc1p2wsldez5mud2yam29q22wgfh9439spgduvct83k3pm50fcxa5dps59h4z5",
    "512053a1f6e454df1aa2776a2814a721372d6258050de330b3c6d10ee8f4e0dda343",
  ],
  [
    "BITCOIN",
    "main",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
    "76a91477bff20c60e522dfaa3350c39b030a5d004e839a88ac",
  ],
  [
    "BITCOIN",
    "main",
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "a914b472a266d0bd89c13706a4132ccfb16f7c3b9fcb87",
  ],
  [
    "BITCOIN_CASH",
    "main",
    "bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2",
    "76a914f5bf48b397dae70be82b3cca4793f8eb2b6cdac988ac",
  ],
  [
    "BITCOIN_CASH",
    "testnet",
    "bchtest:pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t",
    "a914f5bf48b397dae70be82b3cca4793f8eb2b6cdac987",
  ],
  [
    "BITCOIN_CASH",
    "testnet",
    "bchtest:pvch8mmxy0rtfrlarg7ucrxxfzds5pamg73h7370aa87d80gyhqxq7fqng6m6",
    "aa203173ef6623c6b48ffd1a3dcc0cc6489b0a07bb47a37f47cfef4fe69de825c06087",
  ],
];

Deno.test("published addresses are read into their output scripts", async () => {
  for (const [chain, network, address, script] of VALID) {
    deepEqual(await parseAddress(chain, network, address), {
      ok: true,
      address: address.startsWith("BC1") ? address.toLowerCase() : address,
    });
    equal((await scriptOf(chain, network, address)).toHex(), script, address);
  }
});

Deno.test("an output script is written as the one address that stands for it", async () => {
  for (const [chain, network, address, script] of VALID) {
    const written = await writeBitcoin(chain, network, Uint8Array.fromHex(script));
    equal(written, address.startsWith("BC1") ? address.toLowerCase() : address);
  }
});

Deno.test("a script that nobody can be paid by has no address", async () => {
  const scripts: [ChainId, string][] = [
    ["BITCOIN", ""],
    ["BITCOIN", "6a0401020304"],
    ["BITCOIN", `21${"02".repeat(33)}ac`],
    ["BITCOIN", `0013${"11".repeat(19)}`],
    ["BITCOIN", `5220${"11".repeat(32)}`],
    ["BITCOIN", `5120${"ff".repeat(32)}`],
    ["BITCOIN", `aa20${"11".repeat(32)}87`],
    ["BITCOIN", `76a914${"11".repeat(20)}88ad`],
    ["DOGECOIN", `0014${"11".repeat(20)}`],
    ["BITCOIN_CASH", `0014${"11".repeat(20)}`],
  ];
  for (const [chain, script] of scripts) {
    equal(await writeBitcoin(chain, "main", Uint8Array.fromHex(script)), null, script);
  }
});

Deno.test("the invalid addresses of BIP-173 and BIP-350 are refused on every network", async () => {
  const invalid = [
    "tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
    "BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2",
    "bc1rw5uspcuh",
    "bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90",
    "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx",
    "BC1SW50QA3JX3S",
    "bc1zw508d6qejxtdg4y5r3zarvaryvg6kdaj",
    "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",
    "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7",
    "bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du",
    "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3pjxtptv",
    "bc1gmk9yu",
    "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
    "tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf",
    "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
    "tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47",
    "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
    "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",
    "bc1pw5dgrnzv",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j",
  ];
  for (const address of invalid) deepEqual(await homes(address), [], address);
});

Deno.test("witness versions without a meaning and unspendable taproot keys are refused", async () => {
  const wrong = "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y";
  match(await refusal("BITCOIN", "main", wrong), /length/);
  match(await refusal("BITCOIN", "main", "BC1SW50QGDZ25J"), /version 16/);
  match(await refusal("BITCOIN", "main", "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"), /version 2/);
  const offCurve = bitcoin.toBech32(new Uint8Array(32).fill(0xff), 1, "bc");
  match(await refusal("BITCOIN", "main", offCurve), /off the curve/);
});

Deno.test("a checksum of the other bech32 kind is named as such", async () => {
  const v0 = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh";
  const v1 = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd";
  match(await refusal("BITCOIN", "main", v0), /wrong kind/);
  match(await refusal("BITCOIN", "main", v1), /wrong kind/);
});

Deno.test("addresses of the CashAddr specification are read, legacy and foreign ones are not", async () => {
  const pairs = [
    ["1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"],
    ["1KXrWXciRDZUpQwQmuM1DbwsKDLYAYsVLR", "qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy"],
    ["16w1D5WRVKJuZUsSRzdLp9w3YGcgoxDXb", "qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r"],
    ["3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC", "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"],
    ["3LDsS579y7sruadqu11beEJoTjdFiFCdX4", "pr95sy3j9xwd2ap32xkykttr4cvcu7as4yc93ky28e"],
    ["31nwvkZwyPdgzjBJZXfDmSWsC4ZLKpYyUw", "pqq3728yw0y47sqn6l2na30mcw6zm78dzq5ucqzc37"],
  ];
  for (const [legacy, payload] of pairs) {
    match(await refusal("BITCOIN_CASH", "main", legacy), /legacy/);
    const script = await scriptOf("BITCOIN", "main", legacy);
    const full = `bitcoincash:${payload}`;
    for (const form of [full, payload, full.toUpperCase(), payload.toUpperCase()]) {
      deepEqual(await parseAddress("BITCOIN_CASH", "main", form), { ok: true, address: full });
      deepEqual(await scriptOf("BITCOIN_CASH", "main", form), script);
      deepEqual(await homes(form), ["BITCOIN_CASH main"]);
    }
  }
  const invalid = [
    "prefix:x64nx6hz",
    "bitcoincash:qpzry9x8gf2tvdw0s3jn54khce6mua7lcw20ayyn",
    "bchreg:555555555555555555555555555555555555555555555udxmlmrz",
    "bitcoincash:q9adhakpwzztepkpwp5z0dq62m6u5v5xtyj7j3h2ws4mr9g0",
    "bitcoincash:qvch8mmxy0rtfrlarg7ucrxxfzds5pamg73h7370aa87d80gyhqxq5nlegake",
    "pref:pr6m7j9njldwwzlg9v7v53unlr4jkmx6ey65nvtks5",
    "bitcoincash:bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2",
    "bitcoincash:Qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
  ];
  for (const address of invalid) {
    equal((await parseAddress("BITCOIN_CASH", "main", address)).ok, false);
  }
});

Deno.test("a token-aware CashAddr is stored as the plain address of the same script", async () => {
  const payload = new Uint8Array(20).fill(7);
  const aware = encodeCashAddress({ prefix: "bchreg", type: "p2pkhWithTokens", payload }).address;
  const plain = encodeCashAddress({ prefix: "bchreg", type: "p2pkh", payload }).address;
  match(aware, /^bchreg:z/);
  deepEqual(await parseAddress("BITCOIN_CASH", "regtest", aware), { ok: true, address: plain });
});

Deno.test("Litecoin refuses forms it shares with Bitcoin, and MWEB", async () => {
  const shared = "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy";
  match(await refusal("LITECOIN", "main", shared), /shared with Bitcoin/);
  const sharedTest = bitcoin.toBase58Check(new Uint8Array(20), 0xc4);
  match(await refusal("LITECOIN", "testnet", sharedTest), /shared with Bitcoin/);
  match(await refusal("LITECOIN", "main", "ltcmweb1qqxyz"), /MWEB/);
  equal((await parseAddress("LITECOIN", "main", "M8T1B2Z97gVdvmfkQcAtYbEepune1tzGua")).ok, true);
});

Deno.test("a refusal names the network that the address belongs to", async () => {
  const doge = "DBXu2kgc3xtvCUWFcxFE3r9hEYgmuaaCyD";
  equal(await refusal("LITECOIN", "main", doge), "it is an address of Dogecoin main");
  const test = "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7";
  match(await refusal("BITCOIN", "main", test), /Bitcoin testnet/);
  match(await refusal("DOGECOIN", "main", test), /Bitcoin testnet/);
  match(await refusal("DOGECOIN", "signet", doge), /no signet network/);
  match(await refusal("BITCOIN_CASH", "testnet", "bchreg:qqqqq"), /wrong/);
});

// Every form there is, with every network that uses it.
const FORMS: { homes: string; write: (hash: Uint8Array) => string }[] = [
  ...([
    [0x00, "BITCOIN main"],
    [0x05, "BITCOIN main"],
    [
      0x6f,
      "BITCOIN testnet,BITCOIN signet,BITCOIN regtest,LITECOIN testnet,LITECOIN regtest,DOGECOIN regtest",
    ],
    [0xc4, "BITCOIN testnet,BITCOIN signet,BITCOIN regtest,DOGECOIN testnet,DOGECOIN regtest"],
    [0x30, "LITECOIN main"],
    [0x32, "LITECOIN main"],
    [0x3a, "LITECOIN testnet,LITECOIN regtest"],
    [0x1e, "DOGECOIN main"],
    [0x16, "DOGECOIN main"],
    [0x71, "DOGECOIN testnet"],
  ] as const).map(([version, homes]) => ({
    homes,
    write: (hash: Uint8Array) => bitcoin.toBase58Check(hash, version),
  })),
  ...[
    ["bc", "BITCOIN main"],
    ["tb", "BITCOIN testnet,BITCOIN signet"],
    ["bcrt", "BITCOIN regtest"],
    ["ltc", "LITECOIN main"],
    ["tltc", "LITECOIN testnet"],
    ["rltc", "LITECOIN regtest"],
  ].map(([hrp, homes]) => ({
    homes,
    write: (hash: Uint8Array) => bitcoin.toBech32(hash, 0, hrp),
  })),
  ...([
    ["bitcoincash", "BITCOIN_CASH main"],
    ["bchtest", "BITCOIN_CASH testnet"],
    ["bchreg", "BITCOIN_CASH regtest"],
  ] as const).map(([prefix, homes]) => ({
    homes,
    write: (payload: Uint8Array) => encodeCashAddress({ prefix, type: "p2sh", payload }).address,
  })),
];

const anyForm = fc.tuple(
  fc.constantFrom(...FORMS),
  fc.uint8Array({ minLength: 20, maxLength: 20 }),
);

Deno.test("an address is accepted by the networks of its form and by no other", async () => {
  await fc.assert(
    fc.asyncProperty(anyForm, async ([form, hash]) => {
      const address = form.write(hash);
      const found = await homes(address);
      deepEqual(found.sort(), form.homes.split(",").sort(), address);
      const [chain, network] = found[0].split(" ") as [ChainId, Network];
      const script = (await scriptOf(chain, network, address)).toHex();
      match(
        script,
        new RegExp(`^(76a914${hash.toHex()}88ac|a914${hash.toHex()}87|0014${hash.toHex()})$`),
      );
    }),
    { numRuns: 200 },
  );
});

Deno.test("an address with one changed character is never accepted", async () => {
  const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
  await fc.assert(
    fc.asyncProperty(anyForm, fc.nat(), character, async ([form, hash], at, character) => {
      const address = form.write(hash);
      const place = at % address.length;
      fc.pre(address[place] !== character);
      const changed = address.slice(0, place) + character + address.slice(place + 1);
      deepEqual(await homes(changed), [], `${address} ${changed}`);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("a bech32 address with every single character changed in turn is refused", async () => {
  const address = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0";
  for (let place = 3; place < address.length; place++) {
    for (const character of "qpzry9x8gf2tvdw0s3jn54khce6mua7l") {
      if (character === address[place]) continue;
      const changed = address.slice(0, place) + character + address.slice(place + 1);
      equal((await parseAddress("BITCOIN", "main", changed)).ok, false, changed);
    }
  }
});

const codeUnits = fc.uint16Array({ maxLength: 60 }).map((all) => String.fromCharCode(...all));

Deno.test("parsing answers every text and never throws", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string({ maxLength: 200 }), codeUnits),
      async (text) => deepEqual(await homes(text), []),
    ),
    { numRuns: 200 },
  );
});
