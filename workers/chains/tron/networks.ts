/**
 * Constants of Tron. Amounts are sun, a millionth of a TRX.
 * @module
 */

/** First block of the public main network. Its last four bytes are the chain's id, 0x2b6653dc. */
export const MAIN_GENESIS = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";

/** Header in which TronGrid and providers like it expect their key. */
export const KEY_HEADER = "TRON-PRO-API-KEY";

/** First byte of every address. */
export const ADDRESS_VERSION = "41";

/**
 * Milliseconds from the newest block to the end of a transaction's validity. Every transaction adds a random part
 * of {@link VALID_SPREAD_MS}, so that no two are alike.
 */
export const VALID_MS = 75_000;
/** Most that the random part adds. */
export const VALID_SPREAD_MS = 30_000;
/** A plan that is older is not signed: it would expire before nodes have spread it. */
export const SIGN_WITHIN_MS = 20_000;
/** A transaction this old is in a final block, or in none: its validity, and twice the usual wait. */
export const MINED_WITHIN_MS = 300_000;
/** Blocks of a minute: so far the scanner may lie back while orders are planned, and given up. */
export const SCANNED_WITHIN = 20;
/** Milliseconds that the newest blocks of nodes which follow the chain lie apart at most. */
export const APART_MS = 15_000;
/** The same for the newest final ones, in blocks. */
export const FINAL_APART = 40;

/** No price above is believed: a broken node must not spend our coins. Prices were 1,000 and 100 to 420. */
export const BANDWIDTH_PRICE_MAX = 10_000n;
/** The same for a unit of energy. */
export const ENERGY_PRICE_MAX = 2_000n;
/** The same for the prices of a new account. */
export const FIXED_PRICE_MAX = 20_000_000n;
/** No transfer of a token burns more for its energy. */
export const FEE_LIMIT_MAX = 200_000_000n;
/** Nor does the deployment of a token. */
export const FEE_LIMIT_DEPLOY_MAX = 2_000_000_000n;

/**
 * Tokens whose `transfer` answers false although it moves the value: the contract declares an answer and
 * returns none. Their transfers are judged by the log alone.
 */
export const ANSWERS_FALSE: ReadonlySet<string> = new Set(["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"]);
