import { UnmappableError } from '../../port/event-facts.ts';
import { isPersonalName } from '../events/personal-name.ts';

/** The metadata key under which every object that Till creates carries its local id. */
export const localIdKey = 'till_id';

/** 31 December 9999: the last day that JavaScript, PostgreSQL and ISO 8601 can all represent. */
const momentSecondsMax = 253_402_300_799;

/** The processor's own limit for ids. An index could not hold a much longer text. */
const indexedLengthMax = 255;

const currencyCode = /^[a-z]{3}$/;

export const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/**
 * A JSON object of the processor, read field by field. An absent field differs from null: if an API version moved a
 * field, the result must be an error that names the field, and never null.
 */
export class WireObject {
  readonly path: string;
  readonly #fields: Readonly<Record<string, unknown>>;

  private constructor(fields: Readonly<Record<string, unknown>>, path: string) {
    this.path = path;
    this.#fields = fields;
  }

  static parse(value: unknown, path: string): WireObject {
    if (!isRecord(value)) throw new UnmappableError(`${path} is ${describe(value)}, not an object`);
    return new WireObject(value, path);
  }

  has(field: string): boolean {
    return this.#fields[field] !== undefined;
  }

  /** The value of a field, which must not be absent. */
  raw(field: string): unknown {
    const value = this.#fields[field];
    if (value === undefined) throw new UnmappableError(`${this.path}.${field} is missing`);
    return value;
  }

  text(field: string): string {
    return this.#read(kinds.text, field);
  }

  id(): string {
    return this.shortText('id');
  }

  /** A text that fits an index. */
  shortText(field: string): string {
    return this.#read(kinds.shortText, field);
  }

  textOrNull(field: string): string | null {
    return this.raw(field) === null ? null : this.text(field);
  }

  /**
   * A field that Till only shows, or that the processor sometimes leaves out. Null if it is absent or unreadable,
   * because a charge must not be lost for such a field. Most objects lack some of these fields, so this never throws.
   */
  optional<K extends keyof typeof kinds>(kind: K, field: string): Read<K> | null {
    const value = kinds[kind](this.#fields[field], this.path, field);
    // The table has the reader of a kind under its name. The compiler cannot infer that.
    return value instanceof Misfit ? null : (value as Read<K>);
  }

  optionalText(field: string): string | null {
    return this.optional('text', field);
  }

  wholeNumber(field: string): number {
    return this.#read(kinds.wholeNumber, field);
  }

  /** An amount of money. Every stored amount has a lower bound. */
  amount(field: string, min = 0): number {
    const value = this.wholeNumber(field);
    if (value < min) throw this.#wrong(field, value, `an amount of at least ${min}`);
    return value;
  }

  amountOrNull(field: string): number | null {
    return this.raw(field) === null ? null : this.amount(field);
  }

  /** In lower case, as everywhere in Till. */
  currency(field: string): string {
    return this.#read(kinds.currency, field);
  }

  flag(field: string): boolean {
    return this.#read(kinds.flag, field);
  }

  /**
   * A text that may be absent or empty, which means that there is no value. Another type is an error: null would erase
   * the row's value.
   */
  optionalFreeText(field: string): string | null {
    const value = this.#fields[field];
    return value === undefined || value === '' ? null : this.textOrNull(field);
  }

  /** When the object was created. Only used for display and sorting, so a response without it is still valid. */
  createdAt(fallback: Date): Date {
    return this.optional('moment', 'created') ?? fallback;
  }

  moment(field: string): Date {
    return this.#read(kinds.moment, field);
  }

  /** An id, or the id of the object if the field is expanded. */
  reference(field: string): string {
    return this.#read(kinds.reference, field);
  }

  referenceOrNull(field: string): string | null {
    return this.raw(field) === null ? null : this.reference(field);
  }

  object(field: string): WireObject {
    return this.#read(kinds.object, field);
  }

  objectOrNull(field: string): WireObject | null {
    return this.raw(field) === null ? null : this.object(field);
  }

  /** The objects of a list, from `data` of the wire API's list shape. */
  list(field: string): WireObject[] {
    const data = this.object(field).array('data');
    return data.map((item, index) => WireObject.parse(item, `${this.path}.${field}.data[${index}]`));
  }

  /** The objects of a plain array. */
  objects(field: string): WireObject[] {
    return this.array(field).map((item, index) => WireObject.parse(item, `${this.path}.${field}[${index}]`));
  }

  array(field: string): readonly unknown[] {
    return this.#read(kinds.array, field);
  }

  /** One of the known values. The processor's sets are open: a new value is an error, not a guess. */
  oneOf<const Word extends string>(field: string, words: readonly Word[]): Word {
    const value = this.text(field);
    const known = words.find((word) => word === value);
    if (known === undefined) throw this.#wrong(field, value, `one of ${words.join(', ')}`);
    return known;
  }

  /** Like `oneOf`, mapped to Till's values. */
  translate<Mapped>(field: string, table: Readonly<Record<string, Mapped>>): Mapped {
    const word = this.oneOf(field, Object.keys(table));
    const mapped = table[word];
    if (mapped === undefined) throw this.#wrong(field, word, `one of ${Object.keys(table).join(', ')}`);
    return mapped;
  }

  /** The read of a deleted object returns only its id, kind and this flag. */
  isDeleted(): boolean {
    return this.has('deleted') && this.flag('deleted');
  }

  /** Throws unless this is the requested kind of object. */
  expectKind(kind: string): this {
    const found = this.text('object');
    if (found !== kind) throw new UnmappableError(`${this.path} is a ${found}, not a ${kind}`);
    this.id();
    return this;
  }

  /**
   * Till's own id. Metadata can be edited by hand in the processor's dashboard, so a value that is not a UUID is
   * ignored: it must not reach a column of that type.
   */
  localId(): string | null {
    const metadata = this.objectOrNull('metadata');
    const value = metadata === null ? null : metadata.#fields[localIdKey];
    return typeof value === 'string' && uuid.test(value) ? value : null;
  }

  /** For objects that may lack metadata. */
  optionalLocalId(): string | null {
    return this.has('metadata') ? this.localId() : null;
  }

  /** The Till id of a referenced object. Null if only the processor's id is shown. */
  localIdOf(field: string): string | null {
    return isRecord(this.raw(field)) ? this.object(field).optionalLocalId() : null;
  }

  #read<T>(kind: Kind<T>, field: string): T {
    const value = this.raw(field);
    const read = kind(value, this.path, field);
    if (!(read instanceof Misfit)) return read;
    if (read.expected === null) throw new UnmappableError(`${this.path}.${field} ${read.fault}`);
    throw this.#wrong(field, value, read.expected);
  }

  #wrong(field: string, value: unknown, expected: string): UnmappableError {
    // The error is stored and logged, so it must not contain personal data.
    const seen = isPersonalName(field) ? `hidden (${typeof value})` : describe(value);
    return new UnmappableError(`${this.path}.${field} is ${seen}, not ${expected}`);
  }
}

/** Why a field cannot have a value. */
class Misfit {
  readonly expected: string | null;
  readonly fault: string;

  constructor(expected: string | null, fault = '') {
    this.expected = expected;
    this.fault = fault;
  }
}

/** Reads a value, or returns why the field cannot have it. */
type Kind<T> = (value: unknown, path: string, field: string) => T | Misfit;

type Read<K extends keyof typeof kinds> = Exclude<ReturnType<(typeof kinds)[K]>, Misfit>;

const misfits = {
  text: new Misfit('a text'),
  shortText: new Misfit(`a text of at most ${indexedLengthMax} characters`),
  // PostgreSQL cannot store NUL, and its error would look worth retrying.
  nul: new Misfit(null, 'contains a NUL character'),
  // An unpaired surrogate would be stored as another character, so that no lookup would find it.
  surrogate: new Misfit(null, 'contains an unpaired surrogate'),
  wholeNumber: new Misfit('a whole number'),
  number: new Misfit('a number'),
  amount: new Misfit('an amount of at least 0'),
  currency: new Misfit('a currency'),
  flag: new Misfit('true or false'),
  moment: new Misfit('a time in seconds'),
  object: new Misfit('an object'),
  array: new Misfit('a list'),
};

const kinds = {
  text: readText,
  shortText: (value) => {
    const text = readText(value);
    return typeof text === 'string' && text.length > indexedLengthMax ? misfits.shortText : text;
  },
  wholeNumber: readWholeNumber,
  /** A number that may have decimals, such as a percentage. */
  number: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : misfits.number),
  amount: (value) => {
    const amount = readWholeNumber(value);
    return typeof amount === 'number' && amount < 0 ? misfits.amount : amount;
  },
  currency: (value) => {
    const text = readText(value);
    if (typeof text !== 'string') return text;
    const code = text.toLowerCase();
    return currencyCode.test(code) ? code : misfits.currency;
  },
  flag: (value) => (typeof value === 'boolean' ? value : misfits.flag),
  moment: (value) => {
    const seconds = readWholeNumber(value);
    if (typeof seconds !== 'number') return seconds;
    return seconds < 0 || seconds > momentSecondsMax ? misfits.moment : new Date(seconds * 1000);
  },
  reference: (value) => readText(isRecord(value) ? value['id'] : value),
  object: (value, path, field) =>
    isRecord(value) ? WireObject.parse(value, `${path}.${field}`) : misfits.object,
  array: (value) => (Array.isArray(value) ? value : misfits.array),
} satisfies Record<string, Kind<unknown>>;

function readText(value: unknown): string | Misfit {
  if (typeof value !== 'string' || value === '') return misfits.text;
  if (value.includes('\0')) return misfits.nul;
  return value.isWellFormed() ? value : misfits.surrogate;
}

function readWholeNumber(value: unknown): number | Misfit {
  return Number.isSafeInteger(value) ? Number(value) : misfits.wholeNumber;
}

/** Null if an object of several fields cannot be read. For one field, use `optional`, which never throws. */
export function ifReadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnmappableError) return null;
    throw error;
  }
}

/**
 * The links from an object to Till's rows that a request already knows. Null: the request does not know the link, and
 * the caller does not need it.
 */
export interface KnownLinks {
  readonly localId?: string | null;
  readonly customer?: string | null;
  readonly payment_intent?: string | null;
  readonly product?: string | null;
}

/** For an object that already has a row, with its links. */
export const noLinks: KnownLinks = { localId: null, customer: null };

/**
 * The response to a request about one object, with the request's own links to Till's rows. A response that omits a link
 * must not fail a call that has taken effect. In events and listings only the links show which customer an object
 * belongs to, so there they must be readable.
 */
export function withKnownLinks(response: unknown, { localId, ...references }: KnownLinks): unknown {
  if (!isRecord(response)) return response;
  const object = WireObject.parse(response, 'response');
  const links = Object.entries(references).map(([field, known]) => [
    field,
    known ?? object.optional('reference', field),
  ]);
  const known = { ...response, ...Object.fromEntries(links) };
  if (localId === undefined) return known;
  const ownMetadata = isRecord(response['metadata']) ? response['metadata'] : null;
  return { ...known, metadata: localId === null ? ownMetadata : { ...ownMetadata, [localIdKey]: localId } };
}

/** Every JSON object is a record of names and values. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How much of an invalid text an error quotes. */
const shownLengthMax = 60;

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, shownLengthMax));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}

/** Replaces a secret inside a longer text. */
const replacement = '[struck out]';

/**
 * Names of fields whose value is a secret: `client_secret`, `confirmation_secret`, an endpoint's or an ephemeral key's
 * `secret`.
 */
export const secretName = /(?:^|_)secret$/;

/**
 * Secrets within a text. The URL of a 3-D Secure page carries the payment intent's client secret as a query parameter,
 * and the processor's error messages quote parts of API keys. The minimum lengths keep a product name such as
 * `top_secret_box`: ids and secrets of the processor are longer than words.
 */
const secretText = new RegExp(
  [
    String.raw`(?<=client_secret=)[^&\s"]+`,
    String.raw`\b[a-z]{2,8}_(?:(?:test|live)_)?[A-Za-z0-9]{12,}_secret_[A-Za-z0-9]{12,}`,
    String.raw`\bwhsec_[A-Za-z0-9+/=]+`,
    String.raw`\b(?:sk|rk|ek)_(?:live|test)_[A-Za-z0-9*]+`,
  ].join('|'),
  'g',
);

/** Every secret contains one of these. Most texts contain none, and are not searched further. */
const secretHint = /secret|whsec_|_(?:live|test)_/;

/** The text with every secret in it redacted. */
export function redactText(text: string): string {
  return secretHint.test(text) ? text.replaceAll(secretText, replacement) : text;
}
