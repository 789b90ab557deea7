/**
 * Names that people must be able to tell apart by eye: of users, aliases, realms and machine keys.
 * The same rules stand in the database (`is_plain`), except that it checks the positions of joiners
 * only roughly.
 * @module
 */

/**
 * Characters that are invisible, change the direction of text, or control a terminal; without
 * joiners.
 */
const UNSEEN =
  /(?![\u200c\u200d])[\p{Default_Ignorable_Code_Point}\p{Cc}\u2028\u2029\u2800\ufff9-\ufffb]/u;
/** Blanks that look like another blank, or like none. */
const ODD_BLANKS = /^\s|\s$|\s\s|[^\S ]/;
/** Letters with joiners and non-joiners. */
const WORDS = /[\p{L}\p{M}\u200c\u200d]+/gu;
const JOINER = /[\u200c\u200d]/;

/** Why a name is refused. */
export const UNPLAIN =
  "signs that cannot be seen are not allowed, and accents belong to their letters (NFC)";

/** Whether a name has no characters that would make it look like another name. */
export function isPlainName(name: string): boolean {
  return !UNSEEN.test(name) && !ODD_BLANKS.test(name) && name.normalize("NFC") === name &&
    (name.match(WORDS) ?? []).every((word) => !JOINER.test(word) || isLabel(word));
}

/**
 * Gives the form under which two names count as one: without joiners, without the case of letters in any script, and
 * with signs of compatibility (wide letters, ligatures) in their plain form. Capitals before the small letters that stay,
 * because several small letters share one (ß and ss, σ and ς); small letters before those, because ẞ is its own capital.
 */
export function foldName(name: string): string {
  return name.replaceAll(/[\u200c\u200d]/g, "").normalize("NFKD").toLowerCase().toUpperCase()
    .toLowerCase().normalize("NFKC");
}

/** Most characters of a folded name: a sign of compatibility may stand for eighteen. */
const FOLDED_MAX = 600;
/** Why a name is refused whose folded form is too long. */
export const TOO_LONG_FOLDED = "its signs stand for too many letters";

/** Whether the folded form of a name can be stored. */
export function isFoldable(name: string): boolean {
  return foldName(name).length <= FOLDED_MAX;
}

/**
 * Whether a word has joiners where its script needs them (RFC 5892, appendix A.1 and A.2): the platform's
 * own reading of internationalized host names checks that (UTS 46, CheckJoiners).
 */
function isLabel(word: string): boolean {
  return URL.canParse(`http://${word}/`);
}
