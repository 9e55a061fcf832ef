import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaTable } from './schema-table.ts';

test('fields of inner objects have their path, and text is escaped', () => {
  const { text } = schemaTable(
    {
      properties: {
        name: { type: ['string', 'null'], maxLength: 10, description: 'Such as `<b>`.' },
        addOns: {
          type: 'array',
          items: { type: 'object', required: ['planId'], properties: { planId: { $ref: '#/x/Plan' } } },
        },
      },
    },
    'required',
  );
  const plain = text.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ');
  assert.equal(
    plain.trim(),
    'name string or null Such as &#60;b&#62;. At most 10 characters. addOns list of object addOns[].planId required Plan',
  );
  assert.match(text, /<a href="#schema-Plan">Plan<\/a>/);
});
