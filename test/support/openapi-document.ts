import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { readJson } from './client.ts';
import { withoutReferences } from './openapi.ts';

export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  /** The values of an object whose keys are the caller's own, and the rule for those keys. */
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
  readonly maxProperties?: number;
  /** The values of an array. */
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

interface Content {
  readonly [mediaType: string]: {
    readonly schema: Schema;
    readonly example?: Readonly<Record<string, unknown>>;
    /** Those of problems are named after their codes. */
    readonly examples?: Readonly<Record<string, unknown>>;
  };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** One operation of the document, and how to reach it. */
export interface Documented extends Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly isApi: boolean;
  /** The scope that an API key needs for it. Null if it needs no API key. */
  readonly scope: string | null;
}

/** The codes of the problems that the document has for a status. */
export function codesOf(
  { responses }: Pick<Operation, 'responses'>,
  status: string | number,
): readonly string[] {
  return Object.keys(responses[status]?.content?.[problemType]?.examples ?? {});
}

const problemType = 'application/problem+json';

export interface DocumentedResponse {
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

export interface OpenapiDocument {
  readonly operations: readonly Documented[];
  /** Fails unless the document has this response for its status and type, and a problem's code. */
  assertDocumented(operation: Documented, response: DocumentedResponse): void;
}

/** The OpenAPI document as a running service serves it. */
export async function loadOpenapi(url: string): Promise<OpenapiDocument> {
  const served = await readJson<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }>(await fetch(`${url}/api/docs/openapi.json`), 200);
  const document = withoutReferences(served);
  const validatorOf = createCompiler();
  return {
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([verb, operation]) => ({
        ...operation,
        name: `${verb.toUpperCase()} ${path}`,
        method: verb.toUpperCase(),
        path,
        isApi: path.startsWith('/api/v1/'),
        scope: operation.security?.[0]?.['apiKey']?.[0] ?? null,
      })),
    ),
    assertDocumented: (operation, response) => assertDocumented(validatorOf, operation, response),
  };
}

type Compile = (schema: Schema) => ValidateFunction;

/** Equal schemas share a validator: every operation documents the same problems, and compiling takes milliseconds. */
function createCompiler(): Compile {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const compiled = new Map<string, ValidateFunction>();
  const found = new WeakMap<Schema, ValidateFunction>();
  return (schema) => {
    const known = found.get(schema);
    if (known !== undefined) return known;
    // An undocumented field must fail the test, although clients are told to ignore it.
    const closed = JSON.stringify(schema, closeObjects);
    const validate = compiled.get(closed) ?? ajv.compile(JSON.parse(closed));
    compiled.set(closed, validate);
    found.set(schema, validate);
    return validate;
  };
}

function assertDocumented(validatorOf: Compile, operation: Documented, response: DocumentedResponse): void {
  const { status, contentType, text } = response;
  const what = `${operation.name} returned ${status}: ${text.slice(0, 500)}`;
  const documented = operation.responses[status];
  assert.ok(documented !== undefined, `not documented: ${what}`);
  if (documented.content === undefined) {
    assert.equal(text, '', what);
    return;
  }
  const type = (contentType ?? '').split(';', 1)[0] ?? '';
  const schema = documented.content[type]?.schema;
  assert.ok(schema !== undefined, `${type} is not documented: ${what}`);
  const validate = validatorOf(schema);
  const body: unknown = type.endsWith('json') ? JSON.parse(text) : text;
  assert.ok(validate(body), `${what}: ${JSON.stringify(validate.errors)}`);
  if (type === problemType)
    assert.ok(codesOf(operation, status).includes(Object(body).code), `the code is not documented: ${what}`);
}

function closeObjects(_key: string, value: unknown): unknown {
  const isOpen =
    typeof value === 'object' &&
    value !== null &&
    'properties' in value &&
    !('additionalProperties' in value);
  return isOpen ? { ...value, additionalProperties: false } : value;
}
