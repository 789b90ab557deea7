/** A token account that a stranger links, and makes for an own address, hides no deposit there. */
import { deepEqual, equal } from "node:assert/strict";
import { Keypair, PublicKey, SystemProgram, TransactionInstruction } from "@solana/web3.js";
import { openSolanaFixture } from "../support/solana_deposit_fixture.ts";
import { installSplToken } from "../support/solana_tokens.ts";
import { rentOf } from "../../workers/chains/solana/accounts.ts";

const INITIALIZE_ACCOUNT = 18;
const MINT_TO = 7;
const BYTES = 165;

Deno.test("tokens at an account that somebody linked as an address of SOL are credited to the own address that holds it", async () => {
  await using fixture = await openSolanaFixture({ main: true });
  const { node, realm: { admin: { send } } } = fixture;
  const token = await installSplToken(node, "PYUSD_SOL");
  const { id: ramp } = await fixture.ramp("PYUSD_SOL");
  const { address } = await fixture.address(ramp);
  const account = Keypair.generate();
  const linked = (await send("POST", "/v1/accounts", { type: "virtual", asset: "SOL" })).body.id;
  const place = account.publicKey.toBase58();
  const { status, text } = await send("POST", `/v1/accounts/${linked}/assign/${place}`);
  equal(status, 200, text);
  await fixture.mine();

  const programId = new PublicKey(token.program);
  const mint = new PublicKey(token.mint);
  const units = new Uint8Array(8);
  new DataView(units.buffer).setBigUint64(0, 7_000_000n, true);
  const named = (pubkey: PublicKey, isSigner = false) => ({ pubkey, isSigner, isWritable: true });
  await node.send([
    SystemProgram.createAccount({
      fromPubkey: node.payer.publicKey,
      newAccountPubkey: account.publicKey,
      lamports: Number(rentOf(BYTES)),
      space: BYTES,
      programId,
    }),
    new TransactionInstruction({
      programId,
      keys: [named(account.publicKey), named(mint)],
      data: Uint8Array.from([INITIALIZE_ACCOUNT, ...new PublicKey(address).toBytes()]) as never,
    }),
    new TransactionInstruction({
      programId,
      keys: [named(mint), named(account.publicKey), named(node.payer.publicKey, true)],
      data: Uint8Array.from([MINT_TO, ...units]) as never,
    }),
  ], [account]);
  await fixture.mine();
  await fixture.mine();
  const found = (await fixture.deposits()).map(({ address, asset, amount }) => [
    address,
    asset,
    amount,
  ]);
  deepEqual(found, [[address, "PYUSD_SOL", "7"]]);
});
