/**
 * An exchange on loopback that speaks the REST API of Binance for balances, currencies, deposit
 * addresses, withdrawals and deposits, as strictly as its public description: keys, signatures,
 * times, coins and networks are checked. It can be told to lie, to fail, and to be late.
 * @module
 */
import { createHmac } from "node:crypto";

/** A withdrawal as the exchange keeps it. */
export interface ExchangeWithdrawal {
  id: string;
  amount: string;
  transactionFee: string;
  coin: string;
  network: string;
  /** 0 e-mail sent, 1 canceled, 2 awaiting, 3 rejected, 4 processing, 5 failure, 6 completed. */
  status: number;
  address: string;
  txId: string;
  applyTime: string;
  withdrawOrderId?: string;
}

/** A deposit as the exchange keeps it. */
export interface ExchangeDeposit {
  id: string;
  amount: string;
  coin: string;
  network: string;
  /** 0 pending, 1 success, 6 credited, 7 wrong, 8 waiting for the user. */
  status: number;
  address: string;
  txId: string;
  insertTime: number;
}

/** The exchange. */
export interface ExchangeServer extends AsyncDisposable {
  readonly url: string;
  readonly withdrawals: ExchangeWithdrawal[];
  readonly deposits: ExchangeDeposit[];
  /** Requests, as `METHOD path`. */
  readonly requests: string[];
  /** The address and the tag that it names, and of which currency. */
  named: { address: string; tag: string; currency?: string };
  /** Changes currencies before they are told. */
  tell: (currencies: Record<string, unknown>[]) => unknown;
  /** Answers in place of the exchange; null: it answers itself. `after`: it has done it already. */
  instead: (request: string, after: boolean) => Response | null | Promise<Response | null>;
  /** Whether it takes our ids of withdrawals. */
  marks: boolean;
}

/** The only account. */
export const EXCHANGE_KEY = {
  api_key: "exchange-key-of-the-tests-1234",
  secret: "exchange-secret-of-the-tests",
};

const FEE = "0.001";

/** Starts the exchange. */
export function startExchange(): ExchangeServer {
  const state: Omit<ExchangeServer, "url" | typeof Symbol.asyncDispose> = {
    withdrawals: [],
    deposits: [],
    requests: [],
    named: { address: "0x00000000000000000000000000000000DeaDBeef", tag: "" },
    tell: (currencies) => currencies,
    instead: () => null,
    marks: true,
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (one) => {
    const { pathname, search } = new URL(one.url);
    const request = `${one.method} ${pathname}`;
    state.requests.push(request);
    const early = await state.instead(request, false);
    if (early !== null) return early;
    const signed = one.method === "GET" ? search.slice(1) : await one.text() || search.slice(1);
    const answer = answerTo(state, request, { signed, key: one.headers.get("x-mbx-apikey") });
    return await state.instead(request, true) ?? answer;
  });
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

type State = Omit<ExchangeServer, "url" | typeof Symbol.asyncDispose>;

function answerTo(
  state: State,
  request: string,
  { signed, key }: { signed: string; key: string | null },
): Response {
  if (key !== EXCHANGE_KEY.api_key) {
    const msg = `Invalid Api-Key ID: ${key}, https://exchange.example/?apiKey=${key}`;
    return refuse(401, -2008, msg);
  }
  const [query, signature] = signed.split("&signature=");
  const expected = createHmac("sha256", EXCHANGE_KEY.secret).update(query)
    .digest("hex");
  if (signature !== expected) {
    return refuse(400, -1022, "Signature for this request is not valid.");
  }
  const asked = Object.fromEntries(new URLSearchParams(query));
  if (Math.abs(Number(asked.timestamp) - Date.now()) > 60_000) {
    return refuse(400, -1021, "Timestamp for this request is outside of the recvWindow.");
  }
  switch (request) {
    case "GET /api/v3/account":
      return Response.json({ balances: [], permissions: ["SPOT"] });
    case "GET /sapi/v1/capital/config/getall":
      return Response.json(state.tell(currencies()));
    case "GET /sapi/v1/capital/deposit/address":
      return Response.json({ coin: asked.coin, ...state.named, url: "" });
    case "POST /sapi/v1/capital/withdraw/apply":
      return withdraw(state, asked);
    case "GET /sapi/v1/capital/withdraw/history":
      return Response.json(state.withdrawals.filter(({ coin }) => coin === asked.coin));
    case "GET /sapi/v1/capital/deposit/hisrec":
      return Response.json(state.deposits.filter(({ coin }) => coin === asked.coin));
    default:
      return refuse(404, -1000, `there is no ${request}`);
  }
}

function withdraw(state: State, asked: Record<string, string>): Response {
  const { coin, network, address, amount, withdrawOrderId } = asked;
  const known = currencies().find((one) => one.coin === coin)?.networkList
    .some((one) => one.network === network);
  if (!known) return refuse(400, -4001, "the network is not supported");
  if (!/^\d+(\.\d+)?$/.test(amount)) {
    return refuse(400, -1100, "illegal characters in amount");
  }
  if (Number(amount) > 1000) {
    return refuse(400, -4026, "Your account has insufficient balance.");
  }
  if (withdrawOrderId !== undefined && state.marks) {
    if (state.withdrawals.some((one) => one.withdrawOrderId === withdrawOrderId)) {
      return refuse(400, -4104, "this order id was used");
    }
  }
  const id = crypto.randomUUID().replaceAll("-", "");
  state.withdrawals.push({
    id,
    ...{ amount, coin, network, address, status: 4, txId: "", transactionFee: FEE },
    applyTime: new Date().toISOString().replace("T", " ").slice(0, 19),
    ...(state.marks && withdrawOrderId !== undefined ? { withdrawOrderId } : {}),
  });
  return Response.json({ id });
}

function refuse(status: number, code: number, msg: string): Response {
  return Response.json({ code, msg }, { status });
}

function currencies() {
  const network = (coin: string, name: string, more: Record<string, unknown> = {}) => ({
    network: name,
    coin,
    name,
    depositEnable: true,
    withdrawEnable: true,
    withdrawFee: FEE,
    withdrawMin: "0.01",
    withdrawMax: "1000",
    withdrawIntegerMultiple: "0.00000001",
    isDefault: true,
    busy: false,
    sameAddress: false,
    ...more,
  });
  const usdt = "0xdac17f958d2ee523a2206206994597c13d831ec7";
  const usdc = "0x0000000000000000000000000000000000000bad";
  return [
    coinOf("ETH", [network("ETH", "ETH")]),
    coinOf("USDT", [
      network("USDT", "ETH", { contractAddress: usdt }),
      network("USDT", "TRX", { isDefault: false }),
    ]),
    // Another contract than ours: not our asset.
    coinOf("USDC", [network("USDC", "ETH", { contractAddress: usdc })]),
    coinOf("XRP", [network("XRP", "XRP", { sameAddress: true })]),
  ];
}

function coinOf(coin: string, networkList: ReturnType<typeof Object.assign>[]) {
  return {
    coin,
    name: coin,
    depositAllEnable: true,
    withdrawAllEnable: true,
    trading: true,
    isLegalMoney: false,
    free: "10",
    locked: "0",
    freeze: "0",
    withdrawing: "0",
    ipoing: "0",
    ipoable: "0",
    storage: "0",
    networkList,
  };
}
