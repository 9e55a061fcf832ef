import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { FastifyRequest } from 'fastify';
import { isRoundAmount, roundAmountMistake } from '#core/model/format-amount.ts';
import { isDay } from '#core/platform/day.ts';
import { parseInstant } from '#core/platform/instant.ts';
import { parsePlainInteger } from '#core/platform/plain-integer.ts';
import { mistakesMax } from '../load/limits.ts';

/** Marks the schema of an optional body. It is for the documentation, and validates nothing. */
export const optionalBody = 'x-optional';

/** The hook of a route with an optional body. If there is no body, every field is absent. */
export async function emptyIfAbsent(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

/** Marks a text that may be in any case, such as a currency. It is converted to lower case, like an id. */
export const inAnyCase = 'x-in-any-case';

/** Marks an amount in the smallest unit of a currency. The value is the name of the field with the currency. */
export const inCurrency = 'x-in-currency';

/** Says in words what the pattern of a field requires, after the name of the field. */
export const patternRule = 'x-pattern-rule';

/**
 * JSON has a negative zero, which no keyword of JSON Schema distinguishes from zero: for an amount, a quantity or a
 * number of days it is a mistake.
 */
const noNegativeZero = 'x-no-negative-zero';

/** Only the canonical form: the library's own pattern also accepts `urn:uuid:…`. */
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Doesn't coerce values, and finds every mistake, not just the first. */
const ajv = createAjv();

interface Validate {
  (data: unknown): boolean;
  errors: ErrorObject[] | null;
}

type Fields = Record<string, unknown>;

/**
 * Validates one part of a request: first its sizes, so that the work is bounded by what is allowed, and then its
 * content. Normalises its values: numbers in a query or path, which are always text, become numbers, and ids and
 * currencies become lower case, so that equal requests have equal values. Ajv's own coercion is off: it reads `1e400`
 * as an integer, and an empty text or `null` as 0.
 */
export function compileValidator(schema: object, httpPart: string | undefined): Validate {
  // Compiles at the first request: otherwise a start would wait for the compiler, and most processes serve few of the
  // routes.
  let check: ValidateFunction | undefined;
  const { integers, lowerCased, amounts, rules } = namesOf(schema);
  const findTooLarge = sizeCheck(schema);
  const validate: Validate = (data) => {
    const fields = isFields(data) ? data : {};
    if (httpPart !== 'body') parseIntegers(fields, integers);
    const excesses = findTooLarge(data);
    if (excesses.length > 0) {
      validate.errors = [...excesses];
      return false;
    }
    check ??= compileOnce(schema);
    const isValid = check(data);
    const mistakes = amounts.length > 0 ? unevenAmounts(fields, amounts) : [];
    validate.errors =
      isValid && mistakes.length === 0 ? null : [...inWords(check.errors ?? [], rules), ...mistakes];
    if (validate.errors !== null) return false;
    lowerCase(fields, lowerCased);
    return true;
  };
  validate.errors = null;
  return validate;
}

/** By their text. There are as many as the routes declare. */
const checks = new Map<string, ValidateFunction>();

/** Equal schemas share a check: compiling takes milliseconds, and many routes have only an id or a page. */
function compileOnce(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const check = checks.get(text) ?? ajv.compile(withoutNegativeZeros(schema));
  checks.set(text, check);
  return check;
}

function createAjv(): Ajv {
  const created = new Ajv({
    allErrors: true,
    useDefaults: true,
    allowUnionTypes: true,
    keywords: ['example', optionalBody, inAnyCase, inCurrency, patternRule],
  });
  created.addKeyword({
    keyword: noNegativeZero,
    type: 'number',
    validate: (_: unknown, value: number) => !Object.is(value, -0),
    error: { message: 'must not be negative zero' },
  });
  formats.default(created, ['email']);
  // The library's own also accepts times that PostgreSQL refuses, such as those of the year 0.
  created.addFormat('date-time', (text) => parseInstant(text) !== undefined);
  created.addFormat('date', isDay);
  created.addFormat('uuid', uuidPattern);
  return created;
}

interface FieldSchema {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly [inAnyCase]?: unknown;
  readonly [inCurrency]?: string;
  readonly [patternRule]?: string;
  readonly items?: { readonly properties?: Readonly<Record<string, FieldSchema>> };
}

interface AmountField {
  readonly name: string;
  readonly currencyName: string;
}

/** Every part of a request is one flat object, or a flat object with a list of flat objects. */
function namesOf(schema: { readonly properties?: Readonly<Record<string, FieldSchema>> }) {
  const fields = Object.entries(schema.properties ?? {});
  const namesWhere = (holds: (field: FieldSchema) => boolean) =>
    fields.filter(([, field]) => holds(field)).map(([name]) => name);
  return {
    integers: namesWhere(({ type }) => type === 'integer'),
    lowerCased: namesWhere((field) => field.format === 'uuid' || field[inAnyCase] === true),
    amounts: fields.flatMap(([name, field]): readonly AmountField[] => {
      const currencyName = field[inCurrency];
      return currencyName === undefined ? [] : [{ name, currencyName }];
    }),
    rules: new Map(
      fields.flatMap(([name, field]) => [
        [`/${name}`, field[patternRule]] as const,
        ...Object.entries(field.items?.properties ?? {}).map(
          ([inner, item]) => [`/${name}/*/${inner}`, item[patternRule]] as const,
        ),
      ]),
    ),
  };
}

/** The first mistakes. A pattern is replaced by words, because patterns are for programs. */
function inWords(
  errors: readonly ErrorObject[],
  rules: ReadonlyMap<string, string | undefined>,
): readonly ErrorObject[] {
  // An invalid metadata key is reported once, not once for each rule that it breaks.
  const mistakes = errors.filter((error) => error.propertyName === undefined).slice(0, mistakesMax);
  return mistakes.map((error) => {
    const rule =
      error.keyword === 'pattern' ? rules.get(error.instancePath.replace(/\/\d+\//, '/*/')) : undefined;
    return rule === undefined ? error : { ...error, message: rule };
  });
}

function isFields(data: unknown): data is Fields {
  return typeof data === 'object' && data !== null;
}

/** A text that is not an integer stays as it is, and the schema refuses it. */
function parseIntegers(fields: Fields, names: readonly string[]): void {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'string') fields[name] = parsePlainInteger(value) ?? value;
  }
}

/** The parts of a schema that hold integers. */
interface IntegerHolder {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, IntegerHolder>>;
  readonly additionalProperties?: IntegerHolder | boolean;
  readonly items?: IntegerHolder;
}

/** Adds to each integer of a schema, at any depth, that it must not be a negative zero. */
function withoutNegativeZeros(schema: IntegerHolder): IntegerHolder {
  const { type, properties, additionalProperties: others, items } = schema;
  const entries = Object.entries(properties ?? {}).map(
    ([name, field]) => [name, withoutNegativeZeros(field)] as const,
  );
  return {
    ...schema,
    ...([type].flat().includes('integer') ? { [noNegativeZero]: true } : {}),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(entries) }),
    ...(typeof others === 'object' ? { additionalProperties: withoutNegativeZeros(others) } : {}),
    ...(items === undefined ? {} : { items: withoutNegativeZeros(items) }),
  };
}

/** What an amount may be depends on its currency, which the schema of a single field cannot say. */
function unevenAmounts(fields: Fields, amounts: readonly AmountField[]): ErrorObject[] {
  return amounts
    .filter(({ name, currencyName }) => {
      const [amount, currency] = [fields[name], fields[currencyName]];
      if (!Number.isInteger(amount) || typeof currency !== 'string') return false;
      return !isRoundAmount(Number(amount), currency);
    })
    .map(({ name }) => ({
      instancePath: `/${name}`,
      schemaPath: `#/properties/${name}/${inCurrency}`,
      keyword: inCurrency,
      params: {},
      message: roundAmountMistake,
    }));
}

function lowerCase(fields: Fields, names: readonly string[]): void {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'string') fields[name] = value.toLowerCase();
  }
}

/** The parts of a schema that bound the size of a value. */
interface Sized {
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Sized>>;
  readonly additionalProperties?: Sized | boolean;
  readonly items?: Sized;
}

/** Adds the mistakes of a value, with their paths within the value. */
type Check = (value: unknown, found: ErrorObject[]) => void;

/**
 * Compiles a check for values that are so large that checking their content would cost much more than reading them: a
 * list with too many items, an object with too many fields, a text of more than twice the length allowed. Ajv would
 * examine all of it, and describe every mistake. The check returns at most `mistakesMax`.
 */
export function sizeCheck(schema: Sized): (value: unknown) => readonly ErrorObject[] {
  const check = checkOf(schema);
  return (value) => {
    const found: ErrorObject[] = [];
    check?.(value, found);
    return found.slice(0, mistakesMax);
  };
}

/** Undefined if the schema has no bounds. */
function checkOf(schema: Sized): Check | undefined {
  const text = checkOfText(schema);
  const list = checkOfList(schema);
  const fields = checkOfFields(schema);
  if (text === undefined && list === undefined && fields === undefined) return undefined;
  return (value, found) => {
    if (typeof value === 'string') text?.(value, found);
    else if (Array.isArray(value)) list?.(value, found);
    else if (typeof value === 'object' && value !== null)
      fields?.(value as Readonly<Record<string, unknown>>, found);
  };
}

function checkOfText({ maxLength: limit }: Sized) {
  if (limit === undefined) return undefined;
  return (text: string, found: ErrorObject[]) => {
    // A character has at most two units.
    if (text.length > 2 * limit) found.push(excess('maxLength', limit, 'characters'));
  };
}

function checkOfList({ items, maxItems: limit }: Sized) {
  if (items === undefined || limit === undefined) return undefined;
  const check = checkOf(items);
  return (list: readonly unknown[], found: ErrorObject[]) => {
    if (list.length > limit) found.push(excess('maxItems', limit, 'items'));
    else if (check !== undefined)
      for (let index = 0; index < list.length; index += 1) checkPart(check, list[index], index, found);
  };
}

function checkOfFields({ properties, additionalProperties, maxProperties: limit = Infinity }: Sized) {
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  if (others === undefined && properties === undefined && limit === Infinity) return undefined;
  const checkOther = others && checkOf(others);
  const checks = Object.entries(properties ?? {}).flatMap(([name, schema]) => {
    const check = checkOf(schema);
    return check === undefined ? [] : [{ name, check }];
  });
  const knownMax = Object.keys(properties ?? {}).length + mistakesMax;
  return (fields: Readonly<Record<string, unknown>>, found: ErrorObject[]) => {
    const names = Object.keys(fields);
    if (names.length > limit) found.push(excess('maxProperties', limit, 'properties'));
    else if (others !== undefined) {
      if (checkOther !== undefined)
        for (const name of names) checkPart(checkOther, fields[name], name, found);
    } else if (properties !== undefined && names.length > knownMax)
      found.push(...unknownFields(names, properties));
    else for (const { name, check } of checks) checkPart(check, fields[name], name, found);
  };
}

/** Paths are built only for mistakes: nearly every value has none, and a batch has thousands of fields. */
function checkPart(check: Check, value: unknown, name: string | number, found: ErrorObject[]): void {
  const before = found.length;
  if (before >= mistakesMax) return;
  check(value, found);
  for (let index = before; index < found.length; index += 1) {
    const mistake = found[index];
    if (mistake !== undefined) mistake.instancePath = `/${name}${mistake.instancePath}`;
  }
}

function unknownFields(names: readonly string[], properties: object): readonly ErrorObject[] {
  return names
    .filter((name) => !Object.hasOwn(properties, name))
    .slice(0, mistakesMax)
    .map((name) => mistakeOf('additionalProperties', { additionalProperty: name }));
}

function excess(keyword: string, limit: number, what: string): ErrorObject {
  return mistakeOf(keyword, { limit }, `must NOT have more than ${limit} ${what}`);
}

function mistakeOf(keyword: string, params: object, message?: string): ErrorObject {
  return { instancePath: '', schemaPath: '', keyword, params, ...(message === undefined ? {} : { message }) };
}
