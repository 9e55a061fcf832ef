/** The words of a text that are separated by single spaces. */
export type Words<S extends string> = S extends `${infer First} ${infer Rest}` ? First | Words<Rest> : S;

/**
 * An object with these fields, in lines of names, which are all null: the sandbox never sets them, or sets them later.
 */
export function nulls<const L extends string>(...lines: readonly L[]): Record<Words<L>, null> {
  // One entry for each name.
  return Object.fromEntries(words(...lines).map((name) => [name, null])) as Record<Words<L>, null>;
}

/** The words of lines of them. */
export function words<const L extends string>(...lines: readonly L[]): Words<L>[] {
  // The type says the same.
  return lines.flatMap((line) => line.split(' ')) as Words<L>[];
}
