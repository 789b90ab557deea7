import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { encodeCashAddress } from "@bitauth/libauth";
import { addressSpellings } from "../../domain/chains/text_forms.ts";
import { credit } from "../support/evm_fixture.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("spellings of addresses in one realm");

const LINKED = [
  {
    asset: "ETH",
    address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    spelt: ["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"],
  },
  {
    asset: "LTC",
    address: "ltc1qg42tkwuuxefutzxezdkdel39gfstuap288mfea",
    spelt: ["LTC1QG42TKWUUXEFUTZXEZDKDEL39GFSTUAP288MFEA"],
  },
  {
    asset: "BCH",
    address: "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
    spelt: [
      "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
      "QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A",
      "BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A",
    ],
  },
];

test("a transfer and a deposit application find an address in each spelling that its chain takes for the same", async (realm) => {
  for (const { asset, address, spelt } of LINKED) {
    const source = await realm.account({ asset });
    const account = await realm.account({ asset });
    const linked = await realm.admin.send("POST", `/v1/accounts/${account}/assign/${spelt[0]}`);
    deepEqual([linked.status, linked.body.address], [200, address]);
    const move = { source: { account: source }, value: "1" };
    const found = async (name: string) => {
      const body = { ...move, destination: { address: name } };
      return (await realm.admin.send("POST", "/v1/transactions", body)).body.code;
    };
    // Nothing is there to be paid, so it is refused behind the search.
    for (const name of [address, ...spelt]) equal(await found(name), "balance.insufficient", name);
    const other = address.slice(0, -1) + (address.endsWith("a") ? "c" : "a");
    equal(await found(other), "address.not_found", other);
    const app = async (name: string) => {
      const body = { asset, destination: { address: name } };
      return (await realm.admin.send("POST", "/v1/apps/deposit", body)).body.code;
    };
    for (const name of [address, ...spelt]) equal(await app(name), "account.no_ramp", name);
    equal(await app(other), "address.not_found", other);
    const items = [address, ...spelt, other].map((name) => ({
      ...move,
      destination: { address: name },
    }));
    const batch = { atomic: false, transactions: items };
    const { body } = await realm.admin.send("POST", "/v1/transactions/batch", batch);
    deepEqual(
      body.results.map(({ code }: { code: string }) => code),
      [...[address, ...spelt].map(() => "balance.insufficient"), "address.not_found"],
    );
  }
});

test("of the accounts of an address on several chains the asset says which an identity pays", async (realm) => {
  const post = (path: string, body: unknown) => realm.admin.send("POST", path, body);
  const assets = ["MATIC", "BSC", "ETH"];
  const { body: { holder: identity } } = await post("/v1/accounts", {
    ...{ type: "virtual", asset: "ETH" },
  });
  equal((await post("/v1/aliases", { alias: "payer", type: "identity", identity })).status, 201);
  for (const [address, testnet] of SHARED) {
    const receivers = new Map<string, string>();
    for (const asset of assets) {
      const payee = (await post("/v1/accounts", { type: "virtual", asset, testnet })).body.id;
      const of = { type: "virtual", asset, testnet, default: true };
      const payer = (await post("/v1/accounts", of)).body.id;
      await realm.drain();
      const linked = await post(`/v1/accounts/${payee}/assign/${address}`, {});
      equal(linked.status, 200, linked.text);
      await credit(realm, payer, "1");
      receivers.set(asset, payee);
    }
    const move = { source: { alias: "payer" }, destination: { address }, value: "1" };
    const other = await post("/v1/transactions", { ...move, asset: "CELO" });
    equal(other.body.code, "account.asset_mismatch");
    for (const asset of assets) {
      const app = await post("/v1/apps/deposit", { asset, destination: { address } });
      equal(app.body.code, "account.no_ramp", asset);
      const { status, body, text } = await post("/v1/transactions", { ...move, asset });
      deepEqual(
        [status, body.asset, body.destination?.account],
        [201, asset, receivers.get(asset)],
        text,
      );
    }
    // One unit of one chain is not one of another: none is chosen.
    equal((await post("/v1/transactions", move)).body.code, "request.invalid");
  }
});

/** Addresses on several chains, and whether on their test networks. */
const SHARED = [
  ["0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", false],
  ["0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", true],
] as const;

Deno.test("an address of CashAddr is found without its prefix, whatever it pays to, and in the form of wallets that know tokens", async () => {
  const [key, script] = [new Uint8Array(20).fill(7), new Uint8Array(32).fill(9)];
  const payees = [
    { plain: "p2pkh", aware: "p2pkhWithTokens", payload: key },
    { plain: "p2sh", aware: "p2shWithTokens", payload: key },
    { plain: "p2sh", aware: "p2shWithTokens", payload: script },
  ] as const;
  for (const { plain, aware, payload } of payees) {
    const { address } = encodeCashAddress({ prefix: "bitcoincash", type: plain, payload });
    const tokens = encodeCashAddress({ prefix: "bitcoincash", type: aware, payload }).address;
    for (const whole of [address, tokens]) {
      const bare = whole.slice("bitcoincash:".length);
      for (const spelt of [whole, whole.toUpperCase(), bare, bare.toUpperCase()]) {
        ok((await addressSpellings(spelt)).includes(address), spelt);
      }
    }
  }
});

Deno.test("an address whose case counts has one spelling", async () => {
  for (
    const text of [
      "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
      "LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1",
      "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7",
      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      "no address",
    ]
  ) deepEqual(await addressSpellings(text), [text]);
});

const PLAIN = [
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
  "bitcoincash:qpm2qsznhks23z7629mms6s5cwef74vcwvy22gdx6a",
  "qpm2qsznhks23z7629mms6s5cwef74vcwvy22gdx6a",
];
const BASE58 = [
  "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
  "DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L",
  "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
];

test("no alias reads like an address of a chain: who pays it there would pay its owner", async (realm) => {
  const thief = await realm.user();
  const target = { type: "identity", identity: thief.identity };
  const spellings = PLAIN.flatMap((one) => [one, one.toUpperCase()]);
  for (const alias of [...spellings, ...BASE58]) {
    const { status, body } = await thief.send("POST", "/v1/aliases", { alias, ...target });
    deepEqual([status, body.errors?.[0].path], [400, "/alias"], alias);
  }
  for (const address of PLAIN) {
    const insert = realm.command((tx) =>
      tx`insert into aliases (id, alias, folded, type, identity, owner, created_at)
        values (gen_random_uuid(), ${address}, ${address.toLowerCase()}, 'identity', ${thief.identity}, ${thief.id}, now())`
        .then(() => {})
    );
    await rejects(insert, { constraint_name: "aliases_alias_no_address" });
  }
  // One sign of the checksum is another, and codes of other systems.
  const codes = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
    "2naFuXcYTSQ3aFcqnzvAdQ3Tv37",
    "a".repeat(40),
  ];
  for (const alias of codes) {
    equal((await thief.send("POST", "/v1/aliases", { alias, ...target })).status, 201, alias);
  }
});
