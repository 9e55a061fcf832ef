import { fieldLabel } from './words.ts';

/** What the validation of the API says, and how a person reads it after the name of the field. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/^is required$/, 'is missing'],
  [/^must match format "email"$/, 'is not an e-mail address'],
  [/^must match format "uuid"$/, 'is not an id'],
  [/^must match format "date-time"$/, 'is not a time'],
  [/^must match format "date"$/, 'is not a day'],
  [/^must match pattern .*$/, 'has characters that are not allowed, or not the right form'],
  [/^must NOT have more than (\d+) characters$/, 'is longer than $1 characters'],
  [/^must NOT have fewer than 1 characters$/, 'is empty'],
  [/^must NOT have fewer than (\d+) characters$/, 'is shorter than $1 characters'],
  [/^must NOT have more than (\d+) (?:items|properties)$/, 'has more than $1 entries'],
  [/^must NOT have fewer than (\d+) (?:items|properties)$/, 'has fewer than $1 entries'],
  [/^must NOT have duplicate items .*$/, 'has an entry twice'],
  [/^must be >= (-?\d+)$/, 'must be at least $1'],
  [/^must be <= (-?\d+)$/, 'must be at most $1'],
  [/^must be > (-?\d+)$/, 'must be more than $1'],
  [/^must be < (-?\d+)$/, 'must be less than $1'],
  [/^must be (?:integer|number).*$/, 'is not a whole number'],
  [/^must be (?:one of|equal to) .*$/, 'is not one of the choices'],
  [/^is not an allowed key$/, 'is not an allowed name'],
];

/** Words that only programs know: names of fields and schemas. */
const isForPrograms = /["`[\]{}<>=]|\b[a-z]+[A-Z]|\b(?:body|query|header)\./;

/** What is wrong with a value of a request. Never the text of a schema. */
export function mistakeText({ path, message }: { readonly path: string; readonly message: string }): string {
  const name = fieldLabel(
    path
      .split('.')
      .at(-1)
      ?.replace(/\[\d+\]$/, '') ?? path,
  );
  const known = texts.find(([pattern]) => pattern.test(message));
  if (known !== undefined) return `${name} ${message.replace(...known)}.`;
  return `${name} ${isForPrograms.test(message) ? 'is not valid' : message}.`;
}
