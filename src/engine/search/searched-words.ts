/** The functions `till.searchable` and `till.sought_words` of the database, for texts in memory: see the migrations. */

/** One character can become 18, so this is limited before and after. */
const lengthMax = 500;
const wordsMax = 8;
/** Accents, points and signs of vowels, invisible marks of the direction, variants. */
const optionalMarks = new RegExp(
  '[\\u00AD\\u0300-\\u036F\\u0483-\\u0489\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u05C7\\u0610-\\u061A\\u064B-\\u065F' +
    '\\u0670\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\uFE00-\\uFE0F\\uFE20-\\uFE2F\\uFEFF]',
  'gu',
);
const [letters, plainLetters] = ['øØłŁđĐðÐħĦŧŦıς‘’ʼ‐‑–', "oollddddhhttiσ'''---"].map((text) => [...text]);
const plainOf: ReadonlyMap<string, string> = new Map([
  ...(letters ?? []).map((letter, place) => [letter, plainLetters?.[place] ?? ''] as const),
  ...Object.entries({ ß: 'ss', ẞ: 'ss', æ: 'ae', Æ: 'ae', œ: 'oe', Œ: 'oe', þ: 'th', Þ: 'th' }),
]);
const specialLetters = new RegExp(`[${[...plainOf.keys()].join('')}]`, 'gu');
/** A word that has no parts in an index: one or two characters, unless both are Chinese, Japanese or Korean. */
const shortWord = /^(?![\u2E80-\u9FFF\uAC00-\uD7A3\u{20000}-\u{3FFFF}]{2}).{1,2}$/su;

/** A text as it is compared: without accents and other optional marks, in lower case, with single spaces. */
export function searchable(text: string): string {
  const plain = limited(text)
    .normalize('NFKD')
    .replace(optionalMarks, '')
    .toLowerCase()
    .normalize('NFC')
    .replace(specialLetters, (letter) => plainOf.get(letter) ?? letter)
    .replace(/[\t-\r \u0085\u1680\u2028\u2029]+/gu, ' ')
    .trim();
  return limited(plain);
}

/**
 * The first distinct words of a text. A space precedes a short one, so that it is found only at the beginning of a
 * word.
 */
export function soughtWords(text: string): readonly string[] {
  const words = searchable(text)
    .split(/[ ,]+/)
    .filter((word) => word !== '');
  return [...new Set(words)].slice(0, wordsMax).map((word) => (shortWord.test(word) ? ` ${word}` : word));
}

/** How a value contains the words of a text. */
export interface Comparison {
  readonly exact: boolean;
  readonly begins: boolean;
}

/** Compares values with the words of a text, in any order. Undefined if a value lacks one of them. */
export function comparedWith(text: string): (value: string) => Comparison | undefined {
  const whole = ` ${searchable(text)}`;
  const words = soughtWords(text);
  return (value) => {
    const own = ` ${searchable(value)}`;
    const begins = whole !== ' ' && own.startsWith(whole);
    const hasWords = words.length > 0 && words.every((word) => own.includes(word));
    return begins || hasWords ? { exact: own === whole, begins } : undefined;
  };
}

function limited(text: string): string {
  return text.length <= lengthMax ? text : [...text].slice(0, lengthMax).join('');
}
