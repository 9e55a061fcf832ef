import { fieldsOf, queryOf, requiredQueryOf, schemaOf } from '../../fuzz/operation-parts.ts';
import { isAllowed, wrongValues } from '../../fuzz/wrong-values.ts';
import { rotation } from '../../support/effort.ts';
import type { Documented, Schema } from '../../support/openapi-document.ts';
import { exampleRequest, unknownId } from '../../support/right-requests.ts';

/** A request with one mistake, in a place that the response must name. */
export interface Mistake {
  readonly path: string;
  /** Whether a place below it may be named instead: a value in a list, or of a metadata key. */
  readonly isDeep: boolean;
  readonly query?: string;
  /** As text, because some numbers would not survive `JSON.stringify`. */
  readonly body?: string;
}

/** Of those that have the same rules as an earlier field or parameter, which got all that is wrong by these rules. */
const ofEachOther = 1;
/** Of what has another type, which is wrong whatever the other rules are. */
const ofAnotherType = 2;

/** Ways to write a number in JSON. */
const numbers = [
  ...['1e400', '-1e400', '1e15', '-1', '1.5', '0.1'],
  ...['12345678901234567890', '9007199254740993', '1000000000001', '9'.repeat(400)],
];

/** In a body, they are numbers of their own, which an amount or a count never is. */
const negativeZeros = ['-0', '-0.0', '-1e-400'];

/** Ways to write a number in a query, where only plain digits are accepted. */
const numberTexts = [
  ...['1e400', '-1e400', '1e2', '1E0', '1.0', '1.5', '.5', '1.', '0x10', '0b1', '0o7', '1_0', '1,0', '01'],
  ...['%201', '1%20', '%0a1', '%2b1', '+1', '-0', '--1', '', '%20', 'x', 'null', 'true', 'NaN', 'Infinity'],
  ...['[1]', '%D9%A1', '%EF%BC%91', '9'.repeat(400), '12345678901234567890', '9007199254740993', '1e15'],
];

/** Times that the library's own format accepts, or nearly. PostgreSQL has no year 0. */
const times = ['2026-01-01', '2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '1767225600', 'tomorrow', 'now'];

const days = ['2024-02-30', '2024-1-1', '0000-01-01', '2024-01-01T00:00:00Z', 'tomorrow'];

/** Another case of a value that is listed, and two of them. */
const disguised = ({ enum: [value] = [] }: Schema) =>
  typeof value === 'string' ? [value.toUpperCase(), ` ${value}`, `${value},${value}`] : [];

/** All at the first call with a key, and then a few at a time in turn. The long form always gets all. */
class Turns {
  readonly #few: number;
  readonly #turns = new Map<string, () => readonly string[]>();

  constructor(few: number) {
    this.#few = few;
  }

  next(key: string, allOf: () => readonly string[]): readonly string[] {
    const turn = this.#turns.get(key);
    if (turn !== undefined) return turn();
    const all = allOf();
    this.#turns.set(key, rotation(all, this.#few));
    return all;
  }
}

/** What a value must fulfil, without what is said about it. */
function rulesOf(schema: Schema): string {
  const { description: _, example: __, examples: ___, ...rules } = Object(schema);
  return JSON.stringify(rules);
}

export class MistakeMaker {
  readonly #inBody = new Turns(ofEachOther);
  readonly #ofAnotherType = new Turns(ofAnotherType);
  readonly #inQuery = new Turns(ofEachOther);

  /** Each field of the body, wrong in each way, missing, or unknown. */
  inBody(operation: Documented): readonly Mistake[] {
    const schema = schemaOf(operation);
    const base = Object(exampleRequest(operation).body);
    const query = rightQuery(operation);
    const at = (path: string, isDeep: boolean, body: string): Mistake => ({ path, isDeep, query, body });
    const unknown = at('body.unknown', false, JSON.stringify({ ...base, unknown: 1 }));
    if (schema === undefined) return [unknown];
    // For a body that can be left out, null says the same.
    const nothing = operation.requestBody?.required ? ['null'] : [];
    const isWhole = ['[]', '[1]', '"x"', '7', 'true', ...nothing].map((text) => at('body', false, text));
    const ofFields = Object.entries(fieldsOf(operation)).flatMap(([name, field]) =>
      this.#ofField(field, schema, [name]).map(({ names, json, isDeep }) =>
        at(
          ['body', ...names].join('.').replace(/events\.(\d)/, 'events[$1]'),
          isDeep,
          bodyWith(base, schema, names, json),
        ),
      ),
    );
    return [unknown, ...isWhole, ...ofFields];
  }

  /** Each parameter of the query, wrong in each way, sent twice, missing, or unknown. */
  inQuery(operation: Documented): readonly Mistake[] {
    const { body } = exampleRequest(operation);
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const required = requiredQueryOf(operation);
    const parameters = queryOf(operation);
    const at = (name: string, text: string | null): Mistake => {
      const others = pairsOf(operation).filter(([own]) => own !== name);
      const query = [...others.map((pair) => pair.join('=')), ...(text === null ? [] : [text])].join('&');
      return { path: `query.${name}`, isDeep: false, query: `?${query}`, ...sent };
    };
    return [
      at('unknown', 'unknown=1'),
      ...required.map((name) => at(name, null)),
      ...Object.entries(parameters).flatMap(([name, schema]) => [
        ...this.#inQuery
          .next(rulesOf(schema), () => wrongTexts(schema))
          .map((text) => at(name, `${name}=${text}`)),
        at(name, [1, 2].map(() => `${name}=${rightText(schema)}`).join('&')),
        at(name.toUpperCase(), `${name.toUpperCase()}=${rightText(schema)}`),
      ]),
    ];
  }

  #valuesFor(schema: Schema): readonly string[] {
    const isOwn = (json: string) => hasItsType(schema, json);
    return [
      ...this.#inBody.next(rulesOf(schema), () => wrongJson(schema).filter(isOwn)),
      ...this.#ofAnotherType.next(String(schema.type), () =>
        wrongJson(schema).filter((json) => !isOwn(json)),
      ),
      ...([schema.type].flat().includes('integer') ? negativeZeros : []),
    ];
  }

  #ofField(
    schema: Schema,
    holder: Schema,
    names: readonly string[],
  ): readonly {
    readonly names: readonly string[];
    readonly json: string | undefined;
    readonly isDeep: boolean;
  }[] {
    const isDeep =
      schema.items !== undefined ||
      schema.additionalProperties !== undefined ||
      schema.properties !== undefined;
    const isRequired = holder.required?.includes(names.at(-1) ?? '') ?? false;
    const item = schema.items?.properties === undefined ? undefined : schema.items;
    const inner = item ?? schema;
    const inside = item === undefined ? names : [...names, '0'];
    return [
      ...(isRequired ? [{ names, json: undefined, isDeep: false }] : []),
      ...this.#valuesFor(schema).map((json) => ({ names, json, isDeep })),
      ...(inner.properties === undefined
        ? []
        : [{ names: [...inside, 'unknown'], json: '1', isDeep: false }]),
      ...Object.entries(inner.properties ?? {}).flatMap(([name, field]) =>
        this.#ofField(field, inner, [...inside, name]),
      ),
    ];
  }
}

function timesOf({ format }: Schema): readonly string[] {
  if (format === 'date') return days;
  return format === 'date-time' ? times : [];
}

function wrongJson(schema: Schema): readonly string[] {
  const values = [...wrongValues(schema), ...disguised(schema), ...timesOf(schema), ...tooMany(schema)];
  return [
    ...values.map((value) => JSON.stringify(value)),
    ...(schema.type === 'integer' ? numbers.filter((number) => !isRightNumber(schema, Number(number))) : []),
  ];
}

/** Whether a schema could allow a value of this type. */
function hasItsType({ type, enum: [first] = [] }: Schema, json: string): boolean {
  const value: unknown = JSON.parse(json);
  const ofJson = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const types = [type ?? typeof first].flat().map((one) => (one === 'integer' ? 'number' : one));
  return types.includes(ofJson);
}

/** Past the ends of lists and of objects whose keys are the caller's own. */
function tooMany({
  type,
  items,
  maxItems,
  uniqueItems,
  maxProperties,
  additionalProperties,
}: Schema): readonly unknown[] {
  const isType = (name: string) => [type].flat().includes(name);
  if (isType('array') && items !== undefined) {
    const one = sampleOf(items);
    return [
      ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => one)]),
      ...(uniqueItems === true ? [[one, one]] : []),
    ];
  }
  if (maxProperties === undefined || typeof additionalProperties !== 'object') return [];
  const value = sampleOf(additionalProperties);
  return [Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, index) => [`k${index}`, value]))];
}

function isRightNumber({ minimum = -Infinity, maximum = Infinity }: Schema, number: number): boolean {
  return Number.isSafeInteger(number) && !Object.is(number, -0) && number >= minimum && number <= maximum;
}

function wrongTexts(schema: Schema): readonly string[] {
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
    const bounds = [minimum - 1, maximum + 1].map(String);
    return [...numberTexts, ...bounds];
  }
  const texts = [
    ...wrongValues(schema).filter((value) => typeof value === 'string'),
    ...disguised(schema),
    ...timesOf(schema),
  ];
  return texts.filter((text) => text.isWellFormed()).map(encodeURIComponent);
}

/** One of them is right wherever a text is. */
const texts = ['x', 'eur', 'a@example.com', unknownId, '2026-01-01T00:00:00Z', '2026-01-01'];
const samples = new WeakMap<Schema, unknown>();

/** A value that a schema allows. */
function sampleOf(schema: Schema): unknown {
  if (samples.has(schema)) return samples.get(schema);
  const { items, properties, required = [], enum: values, type, minimum = 1 } = schema;
  const candidates = [
    ...(values ?? []),
    ...(items === undefined ? [] : [[sampleOf(items)]]),
    ...(properties === undefined
      ? []
      : [Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]))]),
    ...(type === 'integer' ? [minimum] : []),
    ...[...texts, true, {}],
  ];
  const one = candidates.find((candidate) => isAllowed(schema, candidate));
  samples.set(schema, one);
  return one;
}

/** A right value of a parameter, as it stands in a query. */
export function rightText(schema: Schema): string {
  return encodeURIComponent(String(sampleOf(schema)));
}

function pairsOf(operation: Documented): readonly (readonly [string, string])[] {
  const parameters = queryOf(operation);
  return requiredQueryOf(operation).map((name) => [name, rightText(parameters[name] ?? {})]);
}

/** The query without which a list is refused. */
export function rightQuery(operation: Documented): string {
  const pairs = pairsOf(operation).map((pair) => pair.join('='));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const placeholder = '<value>';

/** The body with another value in one place. Without one, the place is empty. Objects on the way are right ones. */
function bodyWith(base: object, schema: Schema, names: readonly string[], json: string | undefined): string {
  const body = structuredClone(base);
  let holder = body;
  let rules = schema;
  for (const name of names.slice(0, -1)) {
    rules = (Array.isArray(holder) ? rules.items : rules.properties?.[name]) ?? {};
    const found: unknown = Reflect.get(holder, name);
    const next = Object(found ?? structuredClone(sampleOf(rules)));
    Reflect.set(holder, name, next);
    holder = next;
  }
  Reflect.set(holder, names.at(-1) ?? '', json === undefined ? undefined : placeholder);
  return JSON.stringify(body).replace(JSON.stringify(placeholder), () => json ?? '');
}
