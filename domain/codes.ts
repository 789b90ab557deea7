/**
 * The closed lists of country and accounting currency codes, and the fractional digits of each currency.
 * Knows nothing of rates and of identities.
 * @module
 */
import { findAsset } from "./assets.ts";

/** Lists the country codes that an identity may have (ISO 3166-1 alpha-2). */
export const COUNTRIES: ReadonlySet<string> = words(`
  AF AX AL DZ AS AD AO AI AQ AG AR AM AW AU AT AZ BH BS BD BB BY BE BZ BJ BM BT BO BQ BA BW BV
  BR IO BN BG BF BI KH CM CA CV KY CF TD CL CN CX CC CO KM CG CD CK CR CI HR CU CW CY CZ DK DJ
  DM DO EC EG SV GQ ER EE ET FK FO FJ FI FR GF PF TF GA GM GE DE GH GI GR GL GD GP GU GT GG GN
  GW GY HT HM VA HN HK HU IS IN ID IR IQ IE IM IL IT JM JP JE JO KZ KE KI KP KR KW KG LA LV LB
  LS LR LY LI LT LU MO MK MG MW MY MV ML MT MH MQ MR MU YT MX FM MD MC MN ME MS MA MZ MM NA NR
  NP NL NC NZ NI NE NG NU NF MP NO OM PK PW PS PA PG PY PE PH PN PL PT PR QA RE RO RU RW BL SH
  KN LC MF PM VC WS SM ST SA SN RS SC SL SG SX SK SI SB SO ZA GS SS ES LK SD SR SJ SZ SE CH SY
  TW TJ TZ TH TL TG TK TO TT TN TR TM TC TV UG UA AE GB US UM UY UZ VU VE VN VG VI WF EH YE ZM
  ZW
`);

/** Lists the accounting currency codes that realms, identities and accounts may have. */
export const CURRENCIES: ReadonlySet<string> = words(`
  AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BAT BBD BCH BDT BGN BHD BIF BMD BND BOB BRL BSD
  BTC BTN BWP BYN BYR BZD CAD CDF CHF CLF CLP CNY COP CRC CUC CUP CVE CZK DJF DKK DOP DOGE DZD
  EGP ERN ETB ETH EUR FJD FKP FLOW FUSD FREE GMC GMC_BSC RMD GBP GEL GGP GHS GIP GMD GNF GTQ GYD
  HKD HNL HRK HTG HUF IDR ILS IMP INR IQD IRR ISK JEP JMD JOD JPY KES KGS KHR KMF KPW KRW KWD
  KYD KZT LAK LBP LEO LINK LKR LRD LSL LTC LTL LVL LYD MAD MDL MGA MKD MKR MMK MMY MNT MOP MRO
  MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PAX PAXG PEN PGK PHP PKR PLN PYG QAR
  RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLL SOS SRD STD SVC SYP SZL THB TJS TMT TND TOP
  TRY TTD TRON TUSD BUSD TWD TZS UAH UGX UNI USD USDC USDT USDT_TRON INRT_TRON USDT_MATIC UYU
  UZS VEF VND VUV WBTC WST XAF XAG XAU XCD XCON XDR XLM XOF XPF XRP YER ZAR ZMK ZMW ZWL
`);

// ISO 4217 gives BYR and the rest of the first row no minor unit. XAG and XAU (troy ounces) have
// none there either, because nobody mints them: a millionth of an ounce is a fraction of a cent.
// XDR is counted like the money it stands for. Codes outside ISO 4217 (GGP, IMP, JEP, MMY) take 2.
// The last four rows are digital assets that have no accounts here, so the registry lacks them.
const MINOR_UNITS: ReadonlyMap<string, number> = new Map([
  ...each(0, "BIF BYR CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
  ...each(3, "BHD IQD JOD KWD LYD OMR TND"),
  ...each(4, "CLF"),
  ...each(6, "XAG XAU"),
  ...each(6, "XRP"),
  ...each(7, "XLM"),
  ...each(8, "FLOW FUSD"),
  ...each(18, "TUSD"),
]);

/**
 * Counts the fractional digits of an accounting currency: ISO 4217 minor units for money, the
 * asset's own decimals, at most 18, for digital assets.
 *
 * @throws {RangeError} when the code is no accounting currency; callers check CURRENCIES first.
 */
export function minorUnits(currency: string): number {
  if (!CURRENCIES.has(currency)) {
    throw new RangeError(`${currency} is not an accounting currency code`);
  }
  const asset = findAsset(currency);
  return asset ? Math.min(asset.decimals, 18) : MINOR_UNITS.get(currency) ?? 2;
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

function each(digits: number, codes: string): [string, number][] {
  return codes.split(" ").map((code) => [code, digits]);
}
