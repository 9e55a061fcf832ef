/** The last character of Unicode. No text contains it, because it is reserved. */
const lastCharacter = 'chr(1114111)';

/**
 * A search by a beginning shows the newest of its matches. Of a beginning that more rows share, it compares only this
 * many, in the order of the index: reading them takes some milliseconds.
 */
export const comparedMax = 1_000;

/**
 * The SQL condition that one text begins with another. Both are SQL expressions. An index with `text_pattern_ops` finds
 * these rows, whatever the collation of the database is. Unlike `like`, it has no wildcards.
 */
export function beginsWith(text: string, beginning: string): string {
  return `${text} ~>=~ ${beginning} and ${text} ~<~ (${beginning} || ${lastCharacter})`;
}
