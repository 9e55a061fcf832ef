import { type TProperties, Type } from 'typebox';

/** A schema with a name. The document has it once, under that name, and refers to it. */
export function component<Properties extends TProperties>(title: string, properties: Properties) {
  return Type.Object(properties, { title });
}

/** The OpenAPI document, as far as Till completes it. */
export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas?: object };
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly responses: Record<string, object>;
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

function refer(schemas: Map<string, object>, title: string, schema: object): { readonly $ref: string } {
  const known = schemas.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
    throw new Error(`Two different schemas have the title ${title}.`);
  }
  schemas.set(title, schema);
  return { $ref: `#/components/schemas/${title}` };
}
