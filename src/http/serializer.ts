import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Serialize = (data: unknown) => string;

/** No schema refers to another one. */
const compile = SerializerSelector()();
/** Services in one process, and routes with the same schema, share the compiled serialiser. */
const compiled = new WeakMap<object, Serialize>();

/** Compiles at the first response: otherwise a start would spend most of its time in the compiler. */
export function compileSerializer(schema: object): Serialize {
  let serialize: Serialize | undefined;
  return (data) => {
    serialize ??= sharedSerializer(schema);
    return serialize(data);
  };
}

function sharedSerializer(schema: object): Serialize {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const serialize = compile({ schema, method: '', url: '', httpStatus: '' });
  compiled.set(schema, serialize);
  return serialize;
}
