/** Transactions that the holder of a realm's seed makes by hand, beside the service, on an EVM chain. @module */
import { hexlify, type TransactionRequest, Wallet } from "ethers";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import type { TestRealm } from "./realm.ts";

/** Signs a call with the key of an address of ours on Ethereum; its first transaction, unless told. */
export async function signCall(
  { realm, context, address }: { realm: TestRealm; context: WorkerContext; address: string },
  call: Pick<
    TransactionRequest,
    | "to"
    | "value"
    | "data"
    | "accessList"
    | "nonce"
    | "gasLimit"
    | "maxFeePerGas"
    | "maxPriorityFeePerGas"
  >,
): Promise<string> {
  const store = { realm: realm.id, pool: realm.pool };
  const place = { chain: "ETHEREUM" as const, network: "main" as const };
  const rows = await reading(realm.pool, (db) => selectKeyPositions(db, place, [address]));
  const paths = rows.map((row) => ({ ...place, ...row }));
  const price = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, gasLimit: 100_000n };
  return await context.signer.withKeys(store, paths, async (keys) => {
    const wallet = new Wallet(hexlify(keys.get(address)!));
    return await wallet.signTransaction({ type: 2, chainId: 1, nonce: 0, ...price, ...call });
  });
}
