import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matcherOf, parseSearchQuery } from './search.ts';

const clause = { metadataKey: null, isQuoted: true, isNegated: false };

describe('a search query', () => {
  test('joins its clauses with AND, a space or OR, in any case', () => {
    const status = { ...clause, field: 'status', operator: ':', value: 'paid' };
    const created = { ...clause, field: 'created', operator: '>=', value: '5', isQuoted: false };
    for (const [query, match] of [
      [`status:'paid' AND created>=5`, 'all'],
      [`status:"paid" created>=5`, 'all'],
      [` status : "paid"  and  created >= 5 `, 'all'],
      [`status:'paid' or created>=5`, 'any'],
    ])
      assert.deepEqual(parseSearchQuery(String(query)), { clauses: [status, created], match });
  });

  test('takes quotes, escapes, negation, null and metadata', () => {
    assert.deepEqual(parseSearchQuery(String.raw`-metadata["a'b"]:"say \"hi\""`).clauses, [
      { ...clause, field: 'metadata', metadataKey: "a'b", operator: ':', value: 'say "hi"', isNegated: true },
    ]);
    assert.deepEqual(parseSearchQuery(`url:null`).clauses, [
      { ...clause, field: 'url', operator: ':', value: null, isQuoted: false },
    ]);
  });

  test('that does not parse is refused', () => {
    const status = "status:'paid'";
    for (const query of [
      ' ',
      'paid',
      'status:',
      'status:paid',
      "status='paid'",
      "status:'paid",
      `(${status})`,
      `${status} AND`,
      `AND ${status}`,
      `${status} AND OR ${status}`,
      `${status}${status}`,
      `${status}, ${status}`,
      'metadata[key]:"value"',
      "metadata['key']",
      'created>5x',
      'created>5.5.5',
      `-${status} nullx`,
    ])
      assert.throws(() => parseSearchQuery(query), /We were unable to parse your search query/, query);
    assert.throws(() => parseSearchQuery(`${status} AND ${status} OR ${status}`), /not both/);
    assert.throws(() => parseSearchQuery(Array(11).fill(status).join(' ')), /at most 10 clauses/);
  });
});

describe('a field', () => {
  const holds = (resource: string, query: string, value: object) =>
    matcherOf(resource, parseSearchQuery(query))(value);

  test('is compared by its type', () => {
    const customer = { email: 'Ada@Example.com', created: 100, metadata: { plan: 'Gold' } };
    for (const [query, expected] of [
      [`email:'ada@example.com'`, true],
      [`email:'ada'`, false],
      [`email~'EXAMPLE'`, true],
      [`-email~'example'`, false],
      [`created>99 created<=100 created:100`, true],
      [`created>'100'`, false],
      [`metadata['plan']:'gold'`, true],
      [`-metadata['colour']:null`, false],
      [`-metadata['plan']:null`, true],
      [`name:null`, true],
      [`metadata['toString']:null`, true],
      [`email:'x' OR created:100`, true],
    ] as const)
      assert.equal(holds('customers', query, customer), expected, query);
  });

  test('is refused if the resource does not have it, or its type does not have the operator', () => {
    for (const query of [`colour:'red'`, `constructor:'x'`, `status:'active'`])
      assert.throws(
        () => holds('customers', query, {}),
        /is an unsupported search field for resource `customers`/,
      );
    for (const query of [
      `email>'a'`,
      `email~'ab'`,
      `created~'100'`,
      `created>'soon'`,
      `email:5`,
      `name>null`,
    ])
      assert.throws(() => holds('customers', query, {}), /Invalid search query/, query);
    assert.throws(() => holds('customers', `metadata['a']~'abc'`, {}), /does not support/);
  });
});
