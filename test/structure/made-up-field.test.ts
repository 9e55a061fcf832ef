import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { readSuccess } from '../support/client.ts';
import { copyProject } from '../support/copied-project.ts';
import type { EventPage } from '../support/event-feed.ts';
import { confirmSecret, createSubscription, type InvoiceBody, type PageBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

/** The line of each file, after the line that it follows. */
const edits = {
  'src/core/model/invoice.ts': [
    '  readonly hostedInvoiceUrl: string | null;',
    '  readonly billingReason: string | null;',
  ],
  'src/processor/stripe/objects/map-invoice.ts': [
    "    hostedInvoiceUrl: invoice.optionalText('hosted_invoice_url'),",
    "    billingReason: invoice.optionalText('billing_reason'),",
  ],
  'src/features/invoices/invoice-fields.ts': [
    'export const invoiceFields = {',
    "  billingReason: shown(mutable('text'), nullable(Type.String()), 'subscription_cycle'),",
  ],
} as const;
const migration = 'alter table till.invoices add column billing_reason text;\n';

interface Document {
  readonly components: { readonly schemas: { readonly Invoice: { readonly properties: object } } };
}

test('a stored field of the processor is four lines: its column, its type, its mapping and its entry', async (t) => {
  const folder = await copyProject();
  t.after(() => rm(folder, { recursive: true }));
  for (const [path, [before, added]] of Object.entries(edits)) {
    const text = await readFile(join(folder, path), 'utf8');
    assert.equal(text.split(`${before}\n`).length, 2, path);
    await writeFile(join(folder, path), text.replace(`${before}\n`, `${before}\n${added}\n`));
  }
  await writeFile(join(folder, 'migrations/9999_billing_reason.sql'), migration);
  const backend = await startBackend(t);
  const till = await startTill({
    in: 'child',
    on: backend,
    command: [process.execPath, join(folder, 'src/main.ts')],
  });

  const { clientSecret } = await createSubscription(till);
  await confirmSecret(backend, clientSecret);
  const { id } = await till.post<{ id: string }>('/resyncs');
  const read = () => till.get<{ status: string }>(`/resyncs/${id}`);
  await until(async () => (await read()).status === 'finished');
  const [invoice] = (await till.get<PageBody<InvoiceBody & { billingReason: string }>>('/invoices')).data;
  assert.deepEqual([invoice?.status, invoice?.billingReason], ['paid', 'subscription_create']);

  const events = await till.get<EventPage>('/events?types=invoice.created');
  assert.equal(events.data[0]?.data['billingReason'], 'subscription_create');
  const document = await readSuccess<Document>(await till.fetch('/api/docs/openapi.json'));
  assert.ok('billingReason' in document.components.schemas.Invoice.properties);
  const file = await till.fetch('/api/v1/invoices', { headers: { accept: 'text/csv' } });
  const [names, values] = (await file.text()).split('\r\n').map((line) => line.split(','));
  assert.equal(values?.[names?.indexOf('billingReason') ?? -1], 'subscription_create');
});
