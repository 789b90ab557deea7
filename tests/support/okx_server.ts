/**
 * An exchange on loopback that speaks the REST API of OKX for balances, currencies, deposit addresses,
 * withdrawals and deposits: JSON bodies, signatures of time, method, path and body, a passphrase, and
 * answers in an envelope with a code of its own, as strictly as its public description.
 * @module
 */
import { createHmac } from "node:crypto";

/** The only account. */
export const OKX_KEY = {
  api_key: "okx-key-of-the-tests-5678",
  secret: "okx-secret-of-the-tests",
  password: "okx-passphrase-of-the-tests",
};

/** A withdrawal as the exchange keeps it. Its states: -2 canceled, -1 failed, 0 waiting, 1 sending, 2 sent. */
export interface OkxWithdrawal {
  wdId: string;
  clientId: string;
  ccy: string;
  chain: string;
  amt: string;
  fee: string;
  to: string;
  txId: string;
  ts: string;
  state: string;
}

/** A deposit as the exchange keeps it. Its states: 0 waiting, 1 credited, 2 successful. */
export interface OkxDeposit {
  depId: string;
  ccy: string;
  chain: string;
  amt: string;
  to: string;
  txId: string;
  ts: string;
  state: string;
}

/** The exchange. */
export interface OkxServer extends AsyncDisposable {
  readonly url: string;
  readonly withdrawals: OkxWithdrawal[];
  readonly deposits: OkxDeposit[];
  /** The address that it names. */
  address: string;
}

type State = Omit<OkxServer, "url" | typeof Symbol.asyncDispose>;
type Input = Readonly<Record<string, string>>;

/** What each request takes; anything else is refused. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "GET /api/v5/account/balance": [],
  "GET /api/v5/asset/currencies": [],
  "GET /api/v5/asset/deposit-address": ["ccy"],
  "POST /api/v5/asset/withdrawal": ["ccy", "amt", "dest", "toAddr", "fee", "chain", "clientId"],
  "GET /api/v5/asset/withdrawal-history": ["ccy", "before", "after", "limit"],
  "GET /api/v5/asset/deposit-history": ["ccy", "before", "after", "limit"],
};
const FEE = "0.002";

/** Starts the exchange. */
export function startOkx(): OkxServer {
  const state: State = {
    withdrawals: [],
    deposits: [],
    address: "0x00000000000000000000000000000000DeaDBeef",
  };
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const { pathname, search, searchParams } = new URL(request.url);
    const { method, headers } = request;
    const body = await request.text();
    const fault = faultOf(headers, `${method}${pathname}${search}${body}`);
    if (fault !== null) return fault;
    if (method === "POST" && headers.get("content-type") !== "application/json") {
      return refuse("50006", "Invalid Content-Type, please use 'application/json' format", 400);
    }
    const input: Input = method === "POST" ? JSON.parse(body) : Object.fromEntries(searchParams);
    const name = `${method} ${pathname}`;
    const wrong = Object.keys(input).find((key) => !FIELDS[name]?.includes(key));
    if (FIELDS[name] === undefined) {
      return refuse("50000", `there is no ${name}`, 404);
    }
    if (wrong !== undefined) {
      return refuse("51000", `Parameter ${wrong} error`, 400);
    }
    return answerTo(state, name, input);
  });
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

function faultOf(headers: Headers, signed: string): Response | null {
  if (headers.get("ok-access-key") !== OKX_KEY.api_key) {
    return refuse("50111", "Invalid OK-ACCESS-KEY", 401);
  }
  if (headers.get("ok-access-passphrase") !== OKX_KEY.password) {
    return refuse("50105", "Request header OK-ACCESS-PASSPHRASE incorrect", 401);
  }
  const at = headers.get("ok-access-timestamp") ?? "";
  if (!(Math.abs(Date.parse(at) - Date.now()) < 30_000)) {
    return refuse("50102", "Timestamp request expired", 401);
  }
  const signature = createHmac("sha256", OKX_KEY.secret).update(at + signed)
    .digest("base64");
  return headers.get("ok-access-sign") === signature ? null : refuse("50113", "Invalid Sign", 401);
}

function answerTo(state: State, name: string, input: Input): Response {
  switch (name) {
    case "GET /api/v5/account/balance":
      return tell([{
        adjEq: "",
        details: [],
        totalEq: "0",
        uTime: `${Date.now()}`,
      }]);
    case "GET /api/v5/asset/currencies":
      return tell([chainOf("ETH", "ETH-ERC20"), chainOf("USDT", "USDT-TRC20")]);
    case "GET /api/v5/asset/deposit-address":
      if (input.ccy !== "ETH") {
        return refuse("58200", "the currency has no addresses");
      }
      return tell([{
        ccy: "ETH",
        chain: "ETH-ERC20",
        addr: state.address,
        to: "6",
        selected: true,
      }]);
    case "POST /api/v5/asset/withdrawal":
      return withdraw(state, input);
    case "GET /api/v5/asset/withdrawal-history":
      return tell(listed(state.withdrawals, input));
    default:
      return tell(listed(state.deposits, input));
  }
}

function withdraw(state: State, input: Input): Response {
  const { ccy, amt, dest, toAddr, fee, chain, clientId } = input;
  if ([ccy, amt, dest, toAddr, fee, chain].some((one) => typeof one !== "string" || one === "")) {
    return refuse("50014", "a parameter cannot be blank");
  }
  if (dest !== "4" || chain !== "ETH-ERC20" || ccy !== "ETH") {
    return refuse("51000", "Parameter error");
  }
  if (fee !== FEE) return refuse("58215", "Withdrawal fee is not correct");
  if (!/^\d+(\.\d{1,8})?$/.test(amt)) {
    return refuse("51000", "Parameter amt error");
  }
  if (!/^[A-Za-z0-9]{1,32}$/.test(clientId ?? "a")) {
    return refuse("51000", "Parameter clientId error");
  }
  if (Number(amt) > 1000) return refuse("58350", "Insufficient balance");
  if (state.withdrawals.some((one) => one.clientId === clientId)) {
    return refuse("58231", "Duplicated client ID");
  }
  const wdId = `${10_000 + state.withdrawals.length}`;
  state.withdrawals.push({
    ...{ wdId, clientId: clientId ?? "", ccy, chain, amt, fee, to: toAddr, txId: "" },
    ...{ ts: `${Date.now()}`, state: "0" },
  });
  return tell([{ wdId, ccy, amt, chain, clientId }]);
}

/** Newest first, as the exchange lists them. */
function listed<T extends { ccy: string; ts: string }>(all: readonly T[], input: Input): T[] {
  const from = Number(input.before ?? 0);
  return all.filter(({ ccy, ts }) => ccy === input.ccy && Number(ts) > from)
    .toReversed();
}

function chainOf(ccy: string, chain: string) {
  return {
    ...{ ccy, chain, name: ccy, canDep: true, canWd: true, canInternal: true, mainNet: true },
    ...{ fee: FEE, minFee: FEE, maxFee: FEE, minWd: "0.01", maxWd: "1000", wdTickSz: "8" },
    ...{ minDep: "0.001", minWdUnlockConfirm: "96" },
  };
}

function tell(data: unknown[]): Response {
  return Response.json({ code: "0", msg: "", data });
}

function refuse(code: string, msg: string, status = 200): Response {
  return Response.json({ code, msg, data: [] }, { status });
}
