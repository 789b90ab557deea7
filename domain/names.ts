/**
 * Names that people tell apart by looking at them: users, aliases, realms, keys for machines. The same rules stand in
 * the database (`is_plain`), but for the places of joiners, which it knows roughly.
 * @module
 */

/** Signs that nobody sees, that turn the direction of others, or that control a terminal; no joiners. */
const UNSEEN =
  /(?![\u200c\u200d])[\p{Default_Ignorable_Code_Point}\p{Cc}\u2028\u2029\u2800\ufff9-\ufffb]/u;
/** Blanks that are told from others, or from none, by nobody. */
const ODD_BLANKS = /^\s|\s$|\s\s|[^\S ]/;
/** Letters with what joins them, or keeps them apart. */
const WORDS = /[\p{L}\p{M}\u200c\u200d]+/gu;
const JOINER = /[\u200c\u200d]/;

/** Why a name is refused. */
export const UNPLAIN =
  "signs that cannot be seen are not allowed, and accents belong to their letters (NFC)";

/** Whether no other name looks the same by what cannot be seen. */
export function isPlainName(name: string): boolean {
  return !UNSEEN.test(name) && !ODD_BLANKS.test(name) && name.normalize("NFC") === name &&
    (name.match(WORDS) ?? []).every((word) => !JOINER.test(word) || isLabel(word));
}

/**
 * Whether a word has joiners where its script needs them (RFC 5892, appendix A.1 and A.2): the platform's
 * own reading of internationalized host names checks that (UTS 46, CheckJoiners).
 */
function isLabel(word: string): boolean {
  return URL.canParse(`http://${word}/`);
}
