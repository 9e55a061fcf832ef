import type { TProperties, TSchema, Type as TypeBox } from 'typebox';

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;

/**
 * Builds JSON Schemas with TypeBox's types, so that the type of a value follows from its schema. TypeBox itself is not
 * loaded: its 370 modules take an eighth of a start.
 */
// These types say more about a schema than its JSON does, so the compiler cannot compare them. A test compares the
// JSON.
export const Type = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Enum: (values: readonly string[], options?: object) => ({ enum: values, ...options }),
  Integer: plain('integer'),
  Literal: (value: string | boolean, options?: object) => ({ type: typeof value, const: value, ...options }),
  Null: plain('null'),
  Number: plain('number'),
  Object: object,
  Optional: optional,
  String: plain('string'),
  Union: (anyOf: readonly TSchema[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: TSchema) => schema,
} as unknown as Builders;

/** Schemas of optional properties. JSON Schema has no keyword for that, so they are remembered here. */
const optionals = new WeakSet<TSchema>();

function plain(type: string) {
  return (options?: object): TSchema => ({ type, ...options });
}

function object(properties: TProperties, options?: object): TSchema {
  const required = Object.keys(properties).filter((name) => !optionals.has(properties[name] ?? {}));
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
}

function optional(schema: TSchema): TSchema {
  const copy = { ...schema };
  optionals.add(copy);
  return copy;
}
