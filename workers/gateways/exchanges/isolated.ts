/**
 * The client library of exchanges, alone in a thread without rights: it reaches the hosts of one
 * exchange, reads no file and no setting, runs nothing, and shares no memory with the process that
 * holds the keys of chains. It gets the credentials of one account with each call.
 * @module
 */
import type { ExchangeFault } from "../../exchange_gateway.ts";
import type { ExchangeReply, ExchangeRequest } from "./protocol.ts";
import { boundedFetch, reasonOf } from "./wire.ts";

type Dictionary = Record<string, unknown>;

/** The part of a client that is used. Figures are text, because `number` is `String`. */
interface Client {
  urls: Dictionary;
  hostname?: string;
  fetchCurrencies(): Promise<Record<string, Dictionary>>;
  fetchBalance(): Promise<unknown>;
  setMarkets(markets: unknown[], currencies: unknown): unknown;
  currencyToPrecision(code: string, amount: unknown): string;
  fetchDepositAddress(code: string, params: Dictionary): Promise<Dictionary>;
  withdraw(
    code: string,
    amount: string,
    address: string,
    tag: undefined,
    params: Dictionary,
  ): Promise<Dictionary>;
  fetchWithdrawals(code: string, since: number): Promise<Dictionary[]>;
  fetchDeposits(code: string, since: number): Promise<Dictionary[]>;
}

/** The classes of the library, by the ids of exchanges. */
type Library = Readonly<Record<string, new (options: Dictionary) => Client>>;

/** A client with the time of its last list of currencies. */
interface OpenClient {
  credentials: string;
  client: Client;
  /** The status of its last answer over HTTP. */
  status: number;
  read: Record<string, Dictionary>;
  readAt: number;
  /** The reading of its currencies that is under way: calls at once wait for the same one. */
  reading: Promise<void> | null;
}

/** The isolated thread itself; the library of types has no name for it here. */
interface Thread {
  onmessage: ((event: MessageEvent<ExchangeRequest>) => void) | null;
  postMessage(reply: ExchangeReply): void;
}

const thread = self as unknown as Thread;
const TIMEOUT_MS = 15_000;
/** Each client holds the currencies of its exchange: megabytes. */
const CLIENTS_MAX = 20;
const CURRENCIES_MS = 3_600_000;
/** The parameter by which an exchange takes our id of a payment, and refuses it a second time. */
const MARKS: ReadonlyMap<string, string> = new Map([
  ["binance", "withdrawOrderId"],
  ["binancecoinm", "withdrawOrderId"],
  ["binanceusdm", "withdrawOrderId"],
  ["binanceus", "withdrawOrderId"],
  ["mexc", "withdrawOrderId"],
  ["okx", "clientId"],
  ["okxus", "clientId"],
  ["myokx", "clientId"],
  ["bitget", "clientOid"],
  ["gate", "withdraw_order_id"],
  ["gateeu", "withdraw_order_id"],
]);
/** Options of the library beside its own: by those it never asks Binance.US what it moves, so that nothing could be ordered. */
const OPTIONS: ReadonlyMap<string, Dictionary> = new Map([
  ["binanceus", { fetchCurrencies: true }],
]);
/**
 * Exchanges that the library asks for addresses and payments without naming the network: of a currency that they move on
 * several, which of these they mean is not known, and a payment on another is lost.
 */
const WITHOUT_NETWORKS: ReadonlySet<string> = new Set([
  ...["bequant", "bitvavo", "deribit", "digifinex", "fmfwio", "hitbtc", "kraken"],
]);
/** Exchanges to which the library writes the amount of a payment as a double. */
const WITH_DOUBLES: ReadonlySet<string> = new Set(["htx", "kucoin", "kucoinfutures"]);
/** Significant digits that every double keeps. */
const DOUBLE_DIGITS = 15;
/** Errors of the library by which an exchange says that it did not do it. */
const KEY_ERRORS = /^(AuthenticationError|PermissionDenied|AccountNotEnabled|AccountSuspended)$/;
const REFUSALS =
  /^(ArgumentsRequired|BadRequest|BadSymbol|InsufficientFunds|InvalidAddress|AddressPending|NotSupported|RestrictedLocation)$/;
/** How often a question is asked whose number or time the exchange refuses, and the pause before, at most. */
const NUMBERS_MAX = 3;
const NUMBER_PAUSE_MS = 300;

/** An amount that the library would change before it sends it. */
class InexactAmount extends Error {}
/** A network that the library does not name, of which an exchange may mean another. */
class UnnamedNetwork extends Error {}
/** What came before the request for a payment has failed: nothing was asked for. */
class NothingAsked extends Error {}

const clients = new Map<string, OpenClient>();

thread.onmessage = ({ data }) => {
  answer(data).then((reply) => thread.postMessage(reply)).catch(() => {
    // The caller would wait for ever: a value of the library's that cannot be sent.
    const message = "the answer of the exchange cannot be read";
    thread.postMessage({ id: data.id, fault: "unknown", message });
  });
};

async function answer(request: ExchangeRequest): Promise<ExchangeReply> {
  const { id } = request;
  try {
    return { id, value: await call(request) };
  } catch (error) {
    const cause = error instanceof NothingAsked ? error.cause : error;
    const fault = faultOf(cause, request);
    const isKnown = cause === error || fault === "key";
    return { id, fault: isKnown ? fault : "unasked", message: reasonOf(cause, request) };
  }
}

function faultOf(error: unknown, { call, account }: ExchangeRequest): ExchangeFault {
  if (error instanceof InexactAmount || error instanceof UnnamedNetwork) return "unasked";
  const name = error instanceof Error ? error.constructor.name : "";
  // The library does not know every code; a question that is not permitted has the wrong key.
  const forbidden = call === "currencies" &&
    clients.get(account)?.status === 401;
  if (KEY_ERRORS.test(name) || forbidden) return "key";
  if (REFUSALS.test(name)) return "refused";
  return name === "RequestTimeout" ? "timeout" : "unknown";
}

async function call(request: ExchangeRequest): Promise<unknown> {
  const open = await openClient(request);
  const { client } = open;
  const { currency, network, address, amount, mark, since } = request.args;
  const code = `${currency}`;
  switch (request.call) {
    case "currencies":
      await withNewNumbers(() => client.fetchBalance()); // lists of currencies are public at some exchanges
      return Object.values(open.read).map(currencyOf)
        .filter(({ networks }) => networks.length > 0)
        .filter(({ networks }) => networks.length === 1 || !WITHOUT_NETWORKS.has(request.exchange));
    case "depositAddress": {
      assertMeant(request, open);
      const named = await withNewNumbers(() => client.fetchDepositAddress(code, { network }));
      return {
        address: textOf(named.address),
        tag: memoOf(named.tag),
        network: textOf(named.network),
        currency: textOf(named.currency),
      };
    }
    case "withdraw": {
      assertMeant(request, open);
      assertWritable(request.exchange, `${amount}`);
      const name = MARKS.get(request.exchange);
      const params = { network, ...(name === undefined ? {} : { [name]: mark }) };
      const made = await client.withdraw(code, `${amount}`, `${address}`, undefined, params);
      const end = endOf(made, request);
      if (end.reference === null) throw new TypeError("the exchange named no id of the payment");
      return end;
    }
    case "withdrawals":
      return (await withNewNumbers(() => client.fetchWithdrawals(code, Number(since))))
        .map((one) => endOf(one, request));
    case "deposits":
      return (await withNewNumbers(() => client.fetchDeposits(code, Number(since))))
        .map((one) => endOf(one, request));
  }
}

/**
 * Asks anew, under another number, where the exchange refuses the number or the time of a question: that of another process
 * with the same key has overtaken it. Never for a payment: a request that arrives twice on its way is refused so the second
 * time, and has paid the first.
 */
async function withNewNumbers<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = error instanceof Error && error.constructor.name === "InvalidNonce";
      if (!isRefused || tries >= NUMBERS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, NUMBER_PAUSE_MS * Math.random()));
    }
  }
}

/** Refuses to ask without the network where an exchange has come to move the currency on another since it was offered. */
function assertMeant({ exchange, args }: ExchangeRequest, { read }: OpenClient): void {
  if (!WITHOUT_NETWORKS.has(exchange)) return;
  const networks = Object.keys(dictionaryOf(read[`${args.currency}`]?.networks));
  if (networks.length === 1 && networks[0] === args.network) return;
  throw new UnnamedNetwork(`${args.currency} is moved on ${networks.join(", ") || "no network"}`);
}

/** Refuses an amount that the library would round: nobody asked for another one. */
function assertWritable(exchange: string, amount: string): void {
  const digits = amount.replace(".", "").replace(/^0+|0+$/g, "").length;
  if (digits <= DOUBLE_DIGITS || !WITH_DOUBLES.has(exchange)) return;
  const why = `an amount of at most ${DOUBLE_DIGITS} digits is expected, this one has ${digits}`;
  throw new InexactAmount(why);
}

/**
 * Gives the account's client, which keeps the exchange's limits of requests, with currencies that were read lately.
 *
 * @throws {NothingAsked} before a payment is asked for
 */
async function openClient(request: ExchangeRequest): Promise<OpenClient> {
  try {
    const { default: ccxt } = await import("ccxt");
    const open = clientOf(request, ccxt as unknown as Library);
    if (request.call === "currencies" || Date.now() - open.readAt > CURRENCIES_MS) {
      const read = () => readCurrencies(open);
      await (open.reading ??= withNewNumbers(read).finally(() => open.reading = null));
    }
    return open;
  } catch (cause) {
    throw request.call === "withdraw" ? new NothingAsked("", { cause }) : cause;
  }
}

async function readCurrencies(open: OpenClient): Promise<void> {
  open.read = await open.client.fetchCurrencies();
  // The markets of an exchange are megabytes that no transfer needs.
  open.client.setMarkets([], open.read);
  open.readAt = Date.now();
}

/** Calls at once share a client: two would number their requests alike, and the exchange refuses one of them. */
function clientOf(request: ExchangeRequest, library: Library): OpenClient {
  const credentials = JSON.stringify(request.credentials);
  let open = clients.get(request.account);
  if (open === undefined || open.credentials !== credentials) {
    const client = newClient(request, library, (status) => {
      if (open !== undefined) open.status = status;
    });
    open = { credentials, client, status: 0, read: {}, readAt: 0, reading: null };
    if (clients.size >= CLIENTS_MAX) {
      clients.delete(clients.keys().next().value!);
    }
  }
  clients.delete(request.account); // the one that was used last is the last
  clients.set(request.account, open);
  return open;
}

function newClient(
  { exchange, credentials, url }: ExchangeRequest,
  library: Library,
  onStatus: (status: number) => void,
): Client {
  const { api_key: apiKey, secret, password, uid } = credentials;
  const client = new library[exchange]({
    ...{ apiKey, secret, password, uid },
    number: String,
    timeout: TIMEOUT_MS,
    enableRateLimit: true,
    options: { fetchMargins: false, ...OPTIONS.get(exchange) },
    fetchImplementation: async (address: string, init: RequestInit) => {
      const response = await boundedFetch(address, init);
      onStatus(response.status);
      return response;
    },
  });
  // Its own rounds with doubles, and up: a payment is asked for digit for digit, or refused by the exchange.
  client.currencyToPrecision = (_code, amount) => `${amount}`;
  if (url !== null) {
    const at = url.replace(/\/+$/, "");
    const moved = (value: unknown): unknown => {
      if (typeof value === "string") {
        const whole = value.replace("{hostname}", client.hostname ?? "");
        return URL.canParse(whole) ? at + new URL(whole).pathname.replace(/\/$/, "") : value;
      }
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, moved(one)]));
    };
    client.urls.api = moved(client.urls.api);
  }
  return client;
}

function currencyOf(currency: Dictionary) {
  const networks = Object.entries((currency.networks ?? {}) as Record<string, Dictionary>);
  return {
    code: textOf(currency.code) ?? "",
    networks: networks.map(([network, one]) => {
      const limits = dictionaryOf(one.limits);
      return {
        network,
        contract: contractOf(dictionaryOf(one.info)),
        takes: one.deposit === true && one.active !== false,
        pays: one.withdraw === true && one.active !== false,
        minimum: textOf(dictionaryOf(limits.withdraw).min),
        fee: textOf(one.fee),
        leastTaken: textOf(dictionaryOf(limits.deposit).min),
        step: textOf(one.precision),
      };
    }),
  };
}

/** The contract of a token, where the exchange tells it in one of the usual fields. */
function contractOf(info: Dictionary): string | null {
  const given = info.contractAddress ?? info.contract_address ??
    info.contract ?? info.ctAddr;
  return typeof given === "string" && given.length >= 30 ? given : null;
}

function endOf(one: Dictionary, { exchange, args }: ExchangeRequest) {
  const info = dictionaryOf(one.info);
  const name = MARKS.get(exchange);
  const given = name === undefined ? null : textOf(info[name]);
  const marked = Object.values(info).includes(args.mark);
  const fee = dictionaryOf(one.fee);
  // Another asset's fee is no part of the amount.
  const isOther = typeof fee.currency === "string" && fee.currency !== args.currency;
  return {
    reference: textOf(one.id),
    hash: textOf(one.txid),
    address: textOf(one.addressTo) ?? textOf(one.address),
    amount: textOf(one.amount),
    fee: isOther ? null : textOf(fee.cost),
    status: textOf(one.status),
    network: textOf(one.network),
    at: Number.isSafeInteger(one.timestamp) ? one.timestamp : null,
    marked,
    foreign: given !== null && !marked,
  };
}

function dictionaryOf(value: unknown): Dictionary {
  return typeof value === "object" && value !== null ? value as Dictionary : {};
}

/** Whatever an exchange gives as a memo is one, be it a number or too long: a payment without it would be lost. */
function memoOf(tag: unknown): string | null {
  return tag === undefined || tag === null || tag === "" ? null : `${tag}`.slice(0, 200) || "?";
}

/** Text of limited length; a number would have lost its digits already. */
function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
