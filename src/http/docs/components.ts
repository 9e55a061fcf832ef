import type { TProperties } from 'typebox';
import { Type } from '#core/platform/schemas.ts';

/** A schema with a name. The document has it once, under that name, and refers to it. */
export function component<Properties extends TProperties>(title: string, properties: Properties) {
  return Type.Object(properties, { title });
}

/** The parts of the OpenAPI document that Till completes. */
export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas?: object };
}

interface DocumentedOperation {
  readonly operationId: string;
  parameters?: readonly (Parameter | Reference)[];
  readonly responses: Record<string, object>;
}

interface Parameter {
  readonly name: string;
}

interface Reference {
  readonly $ref: string;
}

/**
 * Moves parameters that several operations share to the components of the document. Of several parameters with one
 * name, it moves the most frequent.
 */
export function shareParameters<T extends OpenapiDocument>(document: T): T {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const parameters = operations
    .flatMap((operation) => operation.parameters ?? [])
    .filter((one) => 'name' in one);
  const shared = new Map<string, string>();
  for (const [name, same] of Map.groupBy(parameters, (parameter) => parameter.name)) {
    const variants = Map.groupBy(same, (parameter) => JSON.stringify(parameter));
    const [text, uses] = [...variants].reduce((most, other) =>
      other[1].length > most[1].length ? other : most,
    );
    if (uses.length > 1) shared.set(name, text);
  }
  for (const operation of operations)
    operation.parameters &&= operation.parameters.map((one) =>
      'name' in one && shared.get(one.name) === JSON.stringify(one)
        ? { $ref: `#/components/parameters/${one.name}` }
        : one,
    );
  const components = [...shared].map(([name, text]) => [name, JSON.parse(text)]);
  return { ...document, components: { ...document.components, parameters: Object.fromEntries(components) } };
}

/** These contain example values, in which `title` is an ordinary field. */
const valueKeys: readonly string[] = ['example', 'examples', 'default', 'enum', 'const'];

/** Moves every schema that has a title to the components of the document. */
export function moveToComponents<T extends OpenapiDocument>(document: T): T {
  const schemas = new Map<string, object>(Object.entries(document.components.schemas ?? {}));
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move);
    if (typeof value !== 'object' || value === null) return value;
    const moved = Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, valueKeys.includes(key) ? inner : move(inner)]),
    );
    const { title } = moved;
    return typeof title === 'string' ? refer(schemas, title, moved) : moved;
  };
  const paths = move(document.paths);
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...document, paths, components: { ...document.components, schemas: Object.fromEntries(sorted) } };
}

function refer(schemas: Map<string, object>, title: string, schema: object): Reference {
  const known = schemas.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
    throw new Error(`Two different schemas have the title ${title}.`);
  }
  schemas.set(title, schema);
  return { $ref: `#/components/schemas/${title}` };
}
