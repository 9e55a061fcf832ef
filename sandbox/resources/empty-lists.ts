import { Collection } from '../state/collection.ts';
import type { WireObject } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { customerList } from './listing.ts';
import { Resource } from './resource.ts';

/**
 * Kinds of objects that the sandbox cannot create: the path of the list, the name in "No such …" errors, and the
 * filters. The lists are empty, as in an account that has none. Clients that copy a whole account read all of them.
 */
const emptyKinds: readonly (readonly [string, string, p.Fields?])[] = [
  ['credit_notes', 'credit note', p.each(p.text(), 'customer invoice')],
  ['entitlements/features', 'feature', { archived: p.bool, lookup_key: p.text() }],
  ['entitlements/active_entitlements', 'active entitlement', { customer: p.required(p.text()) }],
  ['payment_links', 'payment link', { active: p.bool }],
  ['payouts', 'payout', { arrival_date: p.range, ...p.each(p.text(), 'destination status') }],
  ['quotes', 'quote', p.each(p.text(), 'customer status test_clock')],
  ['radar/early_fraud_warnings', 'early fraud warning', p.each(p.text(), 'charge payment_intent')],
  ['reviews', 'review'],
  ['transfers', 'transfer', p.each(p.text(), 'destination transfer_group')],
];

const nothing = new Collection<WireObject>({
  name: 'nothing',
  noun: 'object',
  idPrefix: '',
  indexes: { customer: () => [] },
});

export const emptyListOperations = [
  ...emptyKinds.flatMap(([name, noun, filters = {}]) => {
    const collection = new Collection<WireObject>({ name, noun, idPrefix: '' });
    const kind = new Resource(name, () => collection);
    // A path with a namespace has no route for a single object. The response is a 404 too.
    return name.includes('/') ? [kind.list(filters)] : [kind.list(filters), kind.retrieve()];
  }),
  customerList('balance_transactions', () => nothing),
  customerList('sources', () => nothing, { object: p.text() }),
];
