import { type FormMap, type FormNode, shorten } from './form.ts';
import { type Words, words } from './nulls.ts';
import { badParam, missingParam } from './wire-error.ts';

/** Parses one decoded parameter into a typed value, or throws the processor's error. */
export type Parser<T> = (node: FormNode, path: string) => T;
type RequiredParser<T> = Parser<T> & { readonly required: true };

export type Fields = Readonly<Record<string, Parser<unknown>>>;
export type Parsed<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends RequiredParser<infer T>
    ? T
    : F[K] extends Parser<infer T>
      ? T | undefined
      : never;
};

export function required<T>(parser: Parser<T>): RequiredParser<T> {
  const wrapped: Parser<T> = (node, path) => parser(node, path);
  return Object.assign(wrapped, { required: true as const });
}

/** An object with these fields. Rejects unknown names, so a misspelled parameter is never ignored. */
export function object<F extends Fields>(fields: F): Parser<Parsed<F>> {
  return (node, path) => {
    if (typeof node === 'string') throw badParam('Invalid object', path);
    return parseFields(fields, node, path);
  };
}

export function parseFields<F extends Fields>(fields: F, form: FormMap, path = ''): Parsed<F> {
  const parsed: Record<string, unknown> = {};
  for (const name of form.keys()) {
    if (Object.hasOwn(fields, name)) continue;
    const at = join(path, shorten(name));
    throw badParam(`Received unknown parameter: ${at}`, at, 'parameter_unknown');
  }
  for (const [name, parser] of Object.entries(fields)) {
    const node = form.get(name);
    const at = join(path, name);
    if (node === '' && !('clears' in parser)) throw empty(at);
    if (node !== undefined) parsed[name] = parser(node, at);
    else if ('required' in parser) throw missingParam(at);
  }
  // The loop above has parsed each given field with its own parser, and every required field was given.
  return parsed as Parsed<F>;
}

/** The longest string that the processor accepts. */
const textLengthMax = 5_000;

/** A URL. Mobile applications have their own schemes. */
export const url: Parser<string> = (node, path) => {
  const value = text()(node, path);
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value))
    throw badParam('Not a valid URL', path, 'url_invalid');
  return value;
};

export function text(lengthMax = textLengthMax): Parser<string> {
  return (node, path) => {
    if (typeof node !== 'string') throw badParam('Invalid string', path);
    if (node === '') throw empty(path);
    if (node.length > lengthMax)
      throw badParam(`Invalid string: ${shorten(node)}; must be at most ${lengthMax} characters`, path);
    return node;
  };
}

export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): Parser<number> {
  return (node, path) => {
    const refuse = (message: string) => badParam(message, path, 'parameter_invalid_integer');
    if (typeof node !== 'string' || !/^-?\d{1,15}$/.test(node))
      throw refuse(`Invalid integer: ${typeof node === 'string' ? shorten(node) : path}`);
    const value = Number(node);
    if (value < min) throw refuse(`This value must be greater than or equal to ${min}.`);
    if (value > max) throw refuse(`This value must be less than or equal to ${max}.`);
    return value;
  };
}

/** An amount in parts of the smallest unit. */
export const decimal: Parser<number> = (node, path) => {
  // Twelve decimal places are the processor's own limit.
  if (typeof node !== 'string' || !/^-?\d{1,15}(\.\d{1,12})?$/.test(node))
    throw badParam(
      `Invalid decimal: ${typeof node === 'string' ? shorten(node) : path}; must contain at maximum twelve decimal places.`,
      path,
      'parameter_invalid_decimal',
    );
  return Number(node);
};

export const bool: Parser<boolean> = (node, path) => {
  // Python clients send capital letters.
  if (node === 'true' || node === 'True') return true;
  if (node === 'false' || node === 'False') return false;
  throw badParam(`Invalid boolean: ${typeof node === 'string' ? shorten(node) : path}`, path);
};

/** A parameter without an effect. */
export const ignored: Parser<undefined> = () => undefined;

/** The same parser for each of these names, which are in lines. */
export function each<T, const L extends string>(
  parser: Parser<T>,
  ...lines: readonly L[]
): Record<Words<L>, Parser<T>> {
  // One entry for each name.
  return Object.fromEntries(words(...lines).map((name) => [name, parser])) as Record<Words<L>, Parser<T>>;
}

export function oneOf<const T extends string>(...values: readonly T[]): Parser<T> {
  return (node, path) => {
    const value = values.find((candidate) => candidate === node);
    if (value === undefined) throw badParam(`Invalid ${path}: must be one of ${values.join(', ')}`, path);
    return value;
  };
}

export function array<T>(parser: Parser<T>, lengthMax: number): Parser<readonly T[]> {
  return (node, path) => {
    if (typeof node === 'string' || [...node.keys()].some((key) => !/^\d{1,9}$/.test(key)))
      throw badParam('Invalid array', path);
    if (node.size > lengthMax)
      throw badParam(`Array ${path} exceeded maximum ${lengthMax} allowed elements.`, path);
    return [...node.entries()]
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([key, item]) => parser(item, `${path}[${key}]`));
  };
}

/** Accepts an empty value, which unsets the parameter: clients send `null` as an empty string. */
export function clearable<T>(parser: Parser<T>): Parser<T | null> {
  const clearing: Parser<T | null> = (node, path) => (node === '' ? null : parser(node, path));
  return Object.assign(clearing, { clears: true as const });
}

function empty(path: string) {
  return badParam(
    `You passed an empty string for '${path}'. We assume empty values are an attempt to unset a parameter; however '${path}' cannot be unset. You should remove '${path}' from your request or supply a non-empty value.`,
    path,
    'parameter_invalid_empty',
  );
}

/** The parameters that the request contains, which an update applies to an object. */
export function present<P extends object>(params: P): { [K in keyof P]?: Exclude<P[K], undefined> } {
  // Only keys without a value are removed.
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as P;
}

export interface Range {
  readonly gt: number | undefined;
  readonly gte: number | undefined;
  readonly lt: number | undefined;
  readonly lte: number | undefined;
}

const rangeParts = object({ gt: integer(), gte: integer(), lt: integer(), lte: integer() });

/** `created=5` or `created[gte]=5`. */
export const range: Parser<Range> = (node, path) => {
  if (typeof node !== 'string') return rangeParts(node, path);
  const exactly = integer()(node, path);
  return { gt: undefined, gte: exactly, lt: undefined, lte: exactly };
};

export type MetadataChange = ReadonlyMap<string, string> | null;

const metadataKeysMax = 50;
const metadataKeyLengthMax = 40;
const metadataValueLengthMax = 500;

/** The metadata keys to set. An empty value removes its metadata key. Empty metadata removes all of them (null). */
export const metadata = clearable<ReadonlyMap<string, string>>((node, path) => {
  if (typeof node === 'string') throw badParam('Invalid object', path);
  const change = new Map<string, string>();
  for (const [key, value] of node) {
    const at = `${path}[${shorten(key)}]`;
    if (typeof value !== 'string') throw badParam(`Metadata values must be strings: ${at}`, at);
    if (key === '' || charactersIn(key) > metadataKeyLengthMax || key.includes('[') || key.includes(']'))
      throw badParam(
        `Metadata keys must be 1 to ${metadataKeyLengthMax} characters, without square brackets.`,
        at,
      );
    if (charactersIn(value) > metadataValueLengthMax)
      throw badParam(
        `Metadata values can have at most ${metadataValueLengthMax} characters. This one has ${charactersIn(value)}.`,
        at,
      );
    change.set(key, value);
  }
  return change;
});

/** A character outside the first 65,536, such as an emoji, has the length 2. */
function charactersIn(text: string): number {
  return Array.from(text).length;
}

export function applyMetadata(
  current: Readonly<Record<string, string>>,
  change: MetadataChange | undefined,
): Record<string, string> {
  if (change === undefined) return current;
  if (change === null) return {};
  const entries = new Map(Object.entries(current));
  for (const [key, value] of change) {
    if (value === '') entries.delete(key);
    else entries.set(key, value);
  }
  if (entries.size > metadataKeysMax)
    throw badParam(
      `Metadata can have at most ${metadataKeysMax} keys. This request would result in ${entries.size}.`,
      'metadata',
    );
  return Object.fromEntries(entries);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}[${name}]`;
}
