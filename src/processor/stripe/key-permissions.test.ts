import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

/** The methods of the client that only read. All others need the permission to write. */
const reads = ['createPreview', 'list', 'listLineItems', 'retrieve', 'retrieveCurrent'];

/** The resources of expanded fields. The processor requires their permissions too. */
const expanded: Readonly<Record<string, string>> = {
  coupon: 'coupons',
  customer: 'customers',
  latest_charge: 'charges',
  latest_invoice: 'invoices',
  setup_intent: 'setup_intents',
  // An attempt has no permission of its own.
  latest_attempt: 'setup_intents',
  subscription: 'subscriptions',
  payment_intent: 'payment_intents',
  pending_setup_intent: 'setup_intents',
  product: 'products',
  promotion_code: 'promotion_codes',
  refunds: 'refunds',
  schedule: 'subscription_schedules',
};

/** The other fields in the paths of expansions. They belong to the object itself. */
const partsOfObjects = [
  'applies_to',
  'confirmation_secret',
  'data',
  'discount',
  'discounts',
  'line_items',
  'payment',
  'payments',
  'source',
];

test('the page about the Stripe key lists every permission that the adapter needs, and no other', async () => {
  const needed = new Map<string, 'read' | 'write'>();
  const need = (resource: string, permission: 'read' | 'write') =>
    needed.set(resource, needed.get(resource) === 'write' ? 'write' : permission);
  for await (const file of glob('**/*.ts', { cwd: import.meta.dirname })) {
    if (file.endsWith('.test.ts')) continue;
    const source = await readFile(join(import.meta.dirname, file), 'utf8');
    for (const [, resource = '', method = ''] of source.matchAll(/\bstripe\.(\w+)(?:\.\w+)?\s*\.(\w+)\(/g))
      need(pathOf(resource), reads.includes(method) ? 'read' : 'write');
    for (const [, resource = ''] of source.matchAll(/\bfetchFrom\((?:context\.)?stripe\.(\w+)/g))
      need(pathOf(resource), 'read');
    for (const [, paths = ''] of source.matchAll(/(?:expand:?|[eE]xpansions) ?=? ?\[([^\]]*)\]/g))
      for (const [, path = ''] of paths.matchAll(/'([^']+)'/g))
        for (const field of path.split('.')) {
          const resource = expanded[field];
          assert.ok(resource !== undefined || partsOfObjects.includes(field), `${field} is not known here`);
          if (resource !== undefined) need(resource, 'read');
        }
  }
  assert.ok(needed.size > 10, 'the search must find the calls');
  const page = await readFile(join(import.meta.dirname, '../../../docs/processor-key.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \| (read|write) \|/gm)].map(([, ...row]) => row);
  assert.deepEqual(listed, [...needed].toSorted());
});

/** The resources whose path is not derived from their name in the client. */
const paths: Readonly<Record<string, string>> = {
  accounts: 'account',
  invoiceItems: 'invoiceitems',
};

/** `paymentIntents` of the client is `payment_intents` in paths. */
function pathOf(resource: string): string {
  return paths[resource] ?? resource.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
