import { collectInvoice } from '../billing/collect.ts';
import { authenticationUrl, keepDecline } from '../control/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import type { Invoice } from '../wire/objects.ts';
import { objectTime } from '../wire/request-clock.ts';
import type { ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { chosenMethod } from './card-choice.ts';
import { invoicePage, payableIntent } from './invoice-page.ts';
import { seeOther } from './page.ts';

/**
 * Pays an invoice on its page, as the customer would. Then shows the invoice, or the bank's page. The invoice page
 * shows why a card was declined.
 */
export async function payInvoice(world: World, invoice: Invoice, body: string): Promise<ControlResponse> {
  const { store } = world;
  const address = `${world.basePath}/sandbox/invoices/${encodeURIComponent(invoice.id)}`;
  if (payableIntent(store, invoice) === undefined) return seeOther(address);
  try {
    store.clock.at(objectTime(store, store.invoices.name, invoice.id), () =>
      store.transact(null, () => keepDecline(() => attempt(world, invoice, body))),
    );
  } catch (error) {
    if (error instanceof WireError) return invoicePage(world, invoice, error.message);
    throw error;
  }
  await store.written();
  const intent = payableIntent(store, store.invoices.get(invoice.id) ?? invoice);
  const bank = intent === undefined ? null : authenticationUrl(intent);
  return seeOther(bank ?? address);
}

function attempt(world: World, invoice: Invoice, body: string): void {
  const { store } = world;
  const failure = collectInvoice(store, invoice, {
    offSession: false,
    isManual: true,
    returnUrl: invoice.hosted_invoice_url ?? undefined,
    method: chosenMethod(store, new URLSearchParams(body), invoice.customer) ?? undefined,
  });
  if (failure !== null) throw cardError(failure);
}
