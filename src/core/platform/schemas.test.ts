import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from './schemas.ts';

const options = { description: 'text', default: 1 };

/** Every builder, with and without options, in the ways in which schemas use them. */
function schemas(type: typeof Type) {
  const shared = type.String({ minLength: 1 });
  const inner = type.Object({ shared, maybe: type.Optional(shared) });
  return [
    type.Array(type.Integer({ minimum: 0 }), { maxItems: 3 }),
    type.Boolean(options),
    type.Enum(['a', 'b'], options),
    type.Integer(options),
    type.Literal('a', options),
    type.Literal(true),
    type.Null(options),
    type.Number(options),
    type.Object({}),
    type.Object({ maybe: type.Optional(type.Null()) }, options),
    type.Object({ ...inner.properties, nested: inner }, { additionalProperties: false }),
    type.Object({
      again: type.Optional(inner),
      unsafe: type.Optional(type.Unsafe<string>({ type: 'string' })),
    }),
    type.Object({ replaced: shared }, { required: [] }),
    type.String({ ...options, type: ['string', 'null'] }),
    type.Union([type.String(), type.Null()], options),
    type.Unknown(options),
    type.Unsafe<string>({ type: 'string', format: 'email' }),
  ];
}

test('schemas have the same JSON, in the same order, as those of TypeBox', () => {
  const [own, theirs] = [schemas(Type), schemas(TypeBox)];
  for (const [index, schema] of own.entries())
    assert.equal(JSON.stringify(schema), JSON.stringify(theirs[index]));
});
