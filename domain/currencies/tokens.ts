/**
 * Fungible tokens: contracts that the service or a third party deployed. A virtual currency stands
 * for a registered token in the ledger, and its supply never exceeds the token's.
 * @module
 */
import { type LedgerTx, savepoint } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { selectCurrencyByName } from "../../db/currencies/currencies.ts";
import { existsTokenProof } from "../../db/chains/cursors.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  insertToken,
  markRegistered,
  readsLikeAnothers,
  selectContracts,
  selectToken,
  selectTokenByContract,
  selectTokenBySymbol,
  selectTokensAmong,
  type TokenRow,
  updateToken,
} from "../../db/currencies/tokens.ts";
import { selectRamp } from "../../db/accounts/ramps.ts";
import { deleteUnmatchedInSupply } from "../../db/deposits/unmatched_deposits.ts";
import { assertAccount, assertUsable } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { parseContract } from "../chains/addresses.ts";
import {
  type ChainId,
  findAsset,
  isCoinContract,
  nativeAsset,
  tokenByContract,
} from "../assets.ts";
import { findVisible } from "../collections/collection.ts";
import { createCurrency, NewCurrency, resemblesCode } from "./currencies.ts";
import { Id, text } from "../entity.ts";
import { DomainError, type ErrorCode, invalidField } from "../errors.ts";
import { priceOf } from "../sending/fees.ts";
import { isId, newId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { Amount, AmountOrZero, assertScale, fromUnits, toUnits } from "../money.ts";
import { createOrder } from "../sending/chain_orders.ts";
import { chargeRamp } from "../sending/ramp_charges.ts";
import { type ChainNetwork, chainNetworkFor } from "../chains/networks.ts";
import { assertCountable, costOfDeployment } from "./deployment_limits.ts";
import { TOKEN_COLLECTION } from "./token_collection.ts";
import { faultOf, type TokenFindings } from "./token_findings.ts";
import { viewDeployed, viewRegistered } from "./token_views.ts";
import { assertGas, findOwnAddress } from "../sending/funds.ts";

const Decimals = z.union(
  [z.number(), z.string().regex(/^\d{1,2}$/).transform(Number)],
  "a whole number is expected",
)
  .pipe(z.number().int().min(0).max(30)).meta({ type: "integer", minimum: 0, maximum: 30 });
const TokenSymbol = z.string().regex(
  /^[A-Za-z0-9]{1,20}$/,
  "1 to 20 letters and digits are expected",
);

/** A request to deploy a token. */
export const NewToken = z.strictObject({
  account: Id.meta({ description: "The ramp account that pays, and gets the supply." }),
  name: text(60),
  symbol: TokenSymbol,
  supply: Amount,
  decimal_places: Decimals,
}).meta({ id: "NewToken" });
/** A request to deploy a token. */
export type NewToken = z.infer<typeof NewToken>;

/** A request to register a token. A third party's contract is named; a deployed one is found. */
export const TokenRegistration = z.strictObject({
  account: Id,
  symbol: z.string().regex(/^[A-Za-z0-9_]{1,26}$/, "1 to 26 of A-Z a-z 0-9 _ are expected"),
  contract_address: text(200).optional(),
  supply: AmountOrZero.optional(),
  decimal_places: Decimals.optional(),
}).meta({ id: "TokenRegistration" });
/** A request to register a token. */
export type TokenRegistration = z.infer<typeof TokenRegistration>;

/** The suffix of symbols on each chain. */
const SUFFIXES: Readonly<Partial<Record<ChainId, string>>> = {
  ETHEREUM: "_ETH",
  POLYGON: "_MATIC",
  CELO: "_CELO",
  BSC: "_BSC",
  TRON: "_TRON",
  SOLANA: "_SOL",
};
/** The ramp and network of a token. */
interface Home {
  account: AccountRow;
  place: ChainNetwork;
  suffix: string;
}

/**
 * Orders the deployment of a token; its whole supply goes to the ramp's address.
 *
 * @throws {DomainError} account.*, token.unsupported_chain, currency.taken, chain.*,
 *   ramp.gas_insufficient, request.invalid
 */
export async function deployToken(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewToken,
): Promise<TokenRow> {
  const { account, place, suffix } = await homeOf(tx, actor, input.account);
  assertScale(input.supply, input.decimal_places, "/supply");
  assertCountable(place.chain, input);
  const symbol = `${input.symbol}${suffix}`;
  await assertFree(tx, symbol, actor.user);
  const sender = await findOwnAddress(tx, account.id);
  const coin = nativeAsset(place.chain);
  const gas = { code: coin.code, decimals: coin.decimals };
  const asset = { ...gas, chain: place.chain, contract: null, gas, token: null };
  const { currency } = account;
  const price = await priceOf(tx, actor, {
    asset,
    place,
    speed: "medium",
    amount: "0",
    sender,
    currency,
  });
  const units = costOfDeployment(place.chain, price.units);
  await assertGas(tx, place, sender, { code: coin.code, units });
  const id = newId(actor.at);
  const charge = await chargeRamp(tx, actor, { ramp: account, units });
  const order = await createOrder(tx, actor, {
    place,
    ramp: account.id,
    ...(charge === null ? {} : { cost: { ...charge, budget: units } }),
    purpose: "deploy",
    reference_id: id,
    speed: "medium",
    request: {
      kind: "deploy",
      from: sender,
      token: {
        name: input.name,
        symbol: input.symbol,
        decimals: input.decimal_places,
        supply: `${toUnits(input.supply, input.decimal_places)}`,
      },
    },
  });
  const fee = fromUnits(units, coin.decimals);
  const token = { id, name: input.name, symbol, supply: input.supply, contract: null, fee };
  return await insertToken(tx, {
    ...rowFor(actor, account, place),
    ...token,
    decimals: input.decimal_places,
    order_id: order,
    external: false,
  });
}

/**
 * Registers a token: a virtual currency stands for it in the ledger. A worker checks a third
 * party's contract first.
 *
 * @throws {DomainError} account.*, token.not_found, token.pending, token.invalid,
 *   token.unsupported_chain, currency.taken, request.invalid
 */
export async function registerToken(
  tx: LedgerTx,
  actor: RequestActor,
  input: TokenRegistration,
): Promise<TokenRow> {
  const home = await homeOf(tx, actor, input.account);
  if (input.contract_address !== undefined) return await adoptToken(tx, actor, input, home);
  const token = await selectTokenBySymbol(tx, `${input.symbol}${home.suffix}`) ??
    await selectTokenBySymbol(tx, input.symbol);
  if (token === null || token.external || token.account !== home.account.id) {
    const message = "this ramp has deployed no such token";
    throw new DomainError("token.not_found", message, { errors: [{ path: "/symbol", message }] });
  }
  if (token.status === "registered") return token;
  if (token.status !== "deployed") {
    throw new DomainError("token.pending", "its deployment is not final yet");
  }
  return await link(tx, actor, token);
}

async function adoptToken(
  tx: Tx,
  actor: Actor,
  input: TokenRegistration,
  { account, place, suffix }: Home,
): Promise<TokenRow> {
  const { supply, decimal_places: decimals } = input;
  if (supply === undefined || decimals === undefined) {
    const path = supply === undefined ? "/supply" : "/decimal_places";
    throw invalidField(path, "a token that the service did not deploy needs this");
  }
  assertScale(supply, decimals, "/supply");
  const parsed = await parseContract(place.chain, input.contract_address!);
  if (!parsed.ok) throw new DomainError("address.invalid", `not a contract: ${parsed.reason}`);
  const known = knownFault(place, parsed.address);
  if (known !== null) throw new DomainError("token.invalid", known);
  await assertContractFree(tx, place, parsed.address);
  const symbol = input.symbol.endsWith(suffix) ? input.symbol : `${input.symbol}${suffix}`;
  await assertFree(tx, symbol, actor.user);
  const token = await insertToken(tx, {
    ...rowFor(actor, account, place),
    id: newId(actor.at),
    name: null,
    symbol,
    supply,
    decimals,
    contract: parsed.address,
    fee: null,
    order_id: null,
    external: true,
  });
  await enqueue(tx, actor, "token.check", { token: token.id });
  return token;
}

/**
 * Why a contract cannot be registered: its value is that of a known asset. Null for other
 * contracts.
 */
function knownFault(
  { chain, network }: { chain: string; network: string },
  contract: string,
): string | null {
  const id = chain as ChainId;
  if (isCoinContract(id, contract)) return `it is the coin ${nativeAsset(id).code} itself`;
  const known = network === "main" ? tokenByContract(id, contract) : null;
  return known === null ? null : `it is the contract of the asset ${known.code}`;
}

/**
 * Registers a third party's token, or records why it is refused, by the result of its check. False: a
 * token of the ramp was deployed or registered since then, and the check must be made again.
 */
export async function concludeCheck(
  tx: LedgerTx,
  worker: Actor,
  found: TokenFindings,
): Promise<boolean> {
  const token = await selectToken(tx, found.id);
  if (token === null || token.status !== "pending") return true;
  const contracts = await selectContracts(tx, token.account);
  if (contracts.some((contract) => !found.compared.includes(contract))) return false;
  const fail = (code: "token.invalid" | "currency.taken", title: string, detail: string) => {
    const error = { code, title, status: code === "currency.taken" ? 409 : 422, detail };
    return updateToken(tx, token.id, { status: "failed", error, updated_at: worker.at });
  };
  const fault = knownFault(token, token.contract!) ?? faultOf(token, found);
  if (fault !== null) {
    await fail("token.invalid", "Token invalid", fault);
    return true;
  }
  // The currency belongs to the user who asked for it.
  const owner: Actor = { ...worker, user: token.owner, kind: "user" };
  try {
    await savepoint(tx, async (sp) => {
      const freeze_authority = found.told?.freezeAuthority ?? null;
      const issuer_rights = found.told?.issuerRights ?? null;
      const noted = { since: found.height, freeze_authority, issuer_rights, updated_at: worker.at };
      const checked = { status: "deployed" as const, ...noted };
      await link(sp, owner, await updateToken(sp, token.id, checked));
    });
    const counted = { ramp: token.account, contract: token.contract!, height: found.height };
    await deleteUnmatchedInSupply(tx, token, counted);
  } catch (error) {
    // The savepoint undid everything, and a retry would fail too.
    if (!(error instanceof DomainError)) throw error;
    if (error.code === "currency.taken") { // meanwhile
      await fail("currency.taken", "Currency taken", `${token.symbol}: ${error.message}`);
    } else if (error.code === "identity.not_found") {
      await fail("token.invalid", "Token invalid", "the identity of its owner was deleted");
    } else throw error;
  }
  return true;
}

/** Creates the virtual currency that stands for a token. */
async function link(tx: LedgerTx, actor: Actor, token: TokenRow): Promise<TokenRow> {
  const wanted = NewCurrency.parse({ name: token.symbol, supply: token.supply });
  const currency = await createCurrency(tx, actor, { ...wanted, decimals: token.decimals });
  return await markRegistered(tx, token.id, { currency: currency.id, at: actor.at });
}

async function homeOf(tx: Tx, actor: RequestActor, id: string): Promise<Home> {
  const account = isId(id) ? await selectAccount(tx, id) : null;
  assertAccount(actor, "write", account, "/account");
  const asset = findAsset(account.asset);
  const ramp = await selectRamp(tx, account.id);
  const suffix = asset === null ? undefined : SUFFIXES[asset.chain];
  if (asset === null || suffix === undefined || ramp === null) {
    throw new DomainError("token.unsupported_chain", "a ramp of a chain with tokens is expected");
  }
  assertUsable(account, "ramp");
  return {
    account,
    place: chainNetworkFor(actor.settings.chains, asset.chain, account.testnet),
    suffix,
  };
}

async function assertFree(tx: Tx, symbol: string, owner: string): Promise<void> {
  const base = symbol.slice(0, symbol.lastIndexOf("_"));
  const taken = resemblesCode(symbol) || resemblesCode(base) ||
    await selectCurrencyByName(tx, symbol) !== null ||
    await selectTokenBySymbol(tx, symbol) !== null ||
    await readsLikeAnothers(tx, symbol, owner);
  if (taken) throw new DomainError("currency.taken", `${symbol} is taken`);
}

/** Refuses a contract that is registered or was an asset's: its value would be owed twice. */
async function assertContractFree(tx: Tx, place: ChainNetwork, contract: string): Promise<void> {
  const taken = await selectTokenByContract(tx, place, contract);
  if (taken === null && await existsTokenProof(tx, { ...place, contract })) {
    throw new DomainError(
      "token.invalid",
      "it was the contract of an asset, and its value is owed as that asset",
    );
  }
  if (taken === null) return;
  throw new DomainError("token.invalid", `it is the contract of ${taken.symbol} already`);
}

function rowFor(actor: Actor, account: AccountRow, { chain, network }: ChainNetwork) {
  const common = { chain, network, currency: null, status: "pending" as const, data: {} };
  return { ...common, account: account.id, owner: actor.user, created_at: actor.at };
}

/** Which of some deployments were sent or have failed. */
export async function deployedAmong(db: Db, ids: string[]): Promise<string[]> {
  return await selectTokensAmong(db, ids, "sent");
}

/** Which of some registrations are decided. */
export async function registeredAmong(db: Db, ids: string[]): Promise<string[]> {
  return await selectTokensAmong(db, ids, "decided");
}

/** The answer of a deployment that was sent or has failed; null until then. */
export async function findDeployed(db: Db, actor: Actor, id: string): Promise<unknown | null> {
  const row = await findVisible(db, actor, TOKEN_COLLECTION, id);
  return row === null || (row.hash === null && row.status === "pending") ? null : viewDeployed(row);
}

/** Gives the answer of a registration that is decided, which may be its refusal; null until then. */
export async function findRegistered(db: Db, actor: Actor, id: string): Promise<unknown | null> {
  const row = await findVisible(db, actor, TOKEN_COLLECTION, id);
  if (row?.status === "failed") {
    const { code, detail } = row.error as { code: ErrorCode; detail: string };
    return new DomainError(code, detail);
  }
  return row?.status === "registered" ? viewRegistered(row) : null;
}
