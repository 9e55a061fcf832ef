import { UnmappableError } from '../../event-facts.ts';
import { isPersonalName } from '../events/personal-name.ts';

/** The metadata key under which every object that Till makes carries its local id. */
export const localIdKey = 'till_id';

/** 31 December 9999: the last day that every part from here to PostgreSQL and ISO 8601 can write. */
const momentSecondsMax = 253_402_300_799;

/** The processor's own limit for ids. Our indexes could not hold a much longer text. */
const indexedLengthMax = 255;

const currencyCode = /^[a-z]{3}$/;

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/**
 * A JSON object of the processor, read field by field. What is absent is told apart from what is null: a field that
 * an API version moved elsewhere must be an error that names it, never a null that looks like a value.
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

  text(field: string): string {
    return this.#text(field, this.#present(field));
  }

  id(): string {
    return this.shortText('id');
  }

  /** A text that an index must hold. */
  shortText(field: string): string {
    const value = this.text(field);
    if (value.length > indexedLengthMax)
      throw this.#wrong(field, value, `a text of at most ${indexedLengthMax} characters`);
    return value;
  }

  textOrNull(field: string): string | null {
    const value = this.#present(field);
    return value === null ? null : this.#text(field, value);
  }

  /** For decorative fields, and those that the processor itself leaves out at times. */
  optionalText(field: string): string | null {
    return ifReadable(() => this.text(field));
  }

  /** Many texts are free to be empty at the processor, and mean nothing then. */
  freeTextOrNull(field: string): string | null {
    return this.#present(field) === '' ? null : this.textOrNull(field);
  }

  wholeNumber(field: string): number {
    const value = this.#present(field);
    if (!Number.isSafeInteger(value)) throw this.#wrong(field, value, 'a whole number');
    return Number(value);
  }

  /** An amount of money that has a lower bound wherever it is stored. */
  amount(field: string, min = 0): number {
    const value = this.wholeNumber(field);
    if (value < min) throw this.#wrong(field, value, `an amount of at least ${min}`);
    return value;
  }

  amountOrNull(field: string): number | null {
    return this.#present(field) === null ? null : this.amount(field);
  }

  /** In lower case, as everywhere in Till. */
  currency(field: string): string {
    const value = this.text(field).toLowerCase();
    if (!currencyCode.test(value)) throw this.#wrong(field, value, 'a currency');
    return value;
  }

  flag(field: string): boolean {
    const value = this.#present(field);
    if (typeof value !== 'boolean') throw this.#wrong(field, value, 'true or false');
    return value;
  }

  /** One that may be absent, too. A value of another type is an error: null would erase what the row has. */
  optionalFreeText(field: string): string | null {
    return this.has(field) ? this.freeTextOrNull(field) : null;
  }

  /** When the object was made. Only shown and sorted by, so a response without it is still good. */
  createdAt(fallback: Date): Date {
    return ifReadable(() => this.moment('created')) ?? fallback;
  }

  moment(field: string): Date {
    const seconds = this.wholeNumber(field);
    if (seconds < 0 || seconds > momentSecondsMax) throw this.#wrong(field, seconds, 'a time in seconds');
    return new Date(seconds * 1000);
  }

  optionalMoment(field: string): Date | null {
    return ifReadable(() => this.moment(field));
  }

  /** An id, or the object itself where it was expanded. */
  reference(field: string): string {
    const value = this.#present(field);
    return isRecord(value) ? this.object(field).text('id') : this.#text(field, value);
  }

  referenceOrNull(field: string): string | null {
    return this.#present(field) === null ? null : this.reference(field);
  }

  object(field: string): WireObject {
    return WireObject.parse(this.#present(field), `${this.path}.${field}`);
  }

  objectOrNull(field: string): WireObject | null {
    return this.#present(field) === null ? null : this.object(field);
  }

  /** The objects of a list, `data` of the wire's own list shape. */
  list(field: string): WireObject[] {
    const data = this.object(field).array('data');
    return data.map((item, index) => WireObject.parse(item, `${this.path}.${field}.data[${index}]`));
  }

  raw(field: string): unknown {
    return this.#present(field);
  }

  array(field: string): readonly unknown[] {
    const value = this.#present(field);
    if (!Array.isArray(value)) throw this.#wrong(field, value, 'a list');
    return value;
  }

  /** One of the words we know. The processor's sets are open: a new word is an error, not a guess. */
  oneOf<const Word extends string>(field: string, words: readonly Word[]): Word {
    const value = this.text(field);
    const known = words.find((word) => word === value);
    if (known === undefined) throw this.#wrong(field, value, `one of ${words.join(', ')}`);
    return known;
  }

  /** Like `oneOf`, in our words. */
  translate<Ours>(field: string, table: Readonly<Record<string, Ours>>): Ours {
    const word = this.oneOf(field, Object.keys(table));
    const ours = table[word];
    if (ours === undefined) throw this.#wrong(field, word, `one of ${Object.keys(table).join(', ')}`);
    return ours;
  }

  /** Reading what was deleted yields a stump of id, kind and this mark. */
  isDeleted(): boolean {
    return this.has('deleted') && this.flag('deleted');
  }

  /** Whether this is the kind of object that was asked for. */
  expectKind(kind: string): this {
    const found = this.text('object');
    if (found !== kind) throw new UnmappableError(`${this.path} is a ${found}, not a ${kind}`);
    this.id();
    return this;
  }

  /**
   * Our own id. Metadata can be edited by hand on the processor's pages, so what is not a UUID is none of ours:
   * it must not reach a column of that type.
   */
  localId(): string | null {
    const metadata = this.objectOrNull('metadata');
    const value = metadata === null ? null : metadata.#fields[localIdKey];
    return typeof value === 'string' && uuid.test(value) ? value : null;
  }

  /** For objects that may come without metadata. */
  optionalLocalId(): string | null {
    return this.has('metadata') ? this.localId() : null;
  }

  /** Our id of an object that is referred to; null where only its id is shown. */
  localIdOf(field: string): string | null {
    return isRecord(this.#present(field)) ? this.object(field).optionalLocalId() : null;
  }

  #present(field: string): unknown {
    const value = this.#fields[field];
    if (value === undefined) throw new UnmappableError(`${this.path}.${field} is missing`);
    return value;
  }

  #text(field: string, value: unknown): string {
    if (typeof value !== 'string' || value === '') throw this.#wrong(field, value, 'a text');
    // PostgreSQL cannot store it, and the failure there would look like one worth retrying.
    if (value.includes('\0')) throw new UnmappableError(`${this.path}.${field} contains a NUL character`);
    // Half of a character would be stored as another one, and then not be found again.
    if (!value.isWellFormed())
      throw new UnmappableError(`${this.path}.${field} contains an unpaired surrogate`);
    return value;
  }

  #wrong(field: string, value: unknown, expected: string): UnmappableError {
    // The error is kept and logged, so it shows nothing of a person.
    const seen = isPersonalName(field) ? `hidden (${typeof value})` : describe(value);
    return new UnmappableError(`${this.path}.${field} is ${seen}, not ${expected}`);
  }
}

/**
 * Reads a decorative field: null where it is absent or cannot be read. A charge that was made must not be lost because of
 * a field that Till only shows.
 */
export function ifReadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnmappableError) return null;
    throw error;
  }
}

/**
 * The links of an object to our rows that a request already names. Null: the request does not name it, and the caller can
 * do without it.
 */
export interface KnownLinks {
  readonly localId?: string | null;
  readonly customer?: string | null;
  readonly payment_intent?: string | null;
  readonly product?: string | null;
}

/**
 * The response to a request about one object, with its links to our rows as the request has them. A response that leaves
 * a link out must not fail a call that has had its effect. In events and listings only the links say whose an object is,
 * so there they must be readable.
 */
export function withKnownLinks(answer: unknown, { localId, ...references }: KnownLinks): unknown {
  if (!isRecord(answer)) return answer;
  const object = WireObject.parse(answer, 'answer');
  const links = Object.entries(references).map(([field, known]) => [
    field,
    known ?? ifReadable(() => object.reference(field)),
  ]);
  const known = { ...answer, ...Object.fromEntries(links) };
  if (localId === undefined) return known;
  const ownMetadata = isRecord(answer['metadata']) ? answer['metadata'] : null;
  return { ...known, metadata: localId === null ? ownMetadata : { [localIdKey]: localId } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As much of a wrong text as helps to see what is wrong with it. */
const shownLengthMax = 60;

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, shownLengthMax));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}
