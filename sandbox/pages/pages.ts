import type { Handler, Handlers } from '../control/handler.ts';
import { describeTestCard, testCards } from '../payments/test-cards.ts';
import type { Invoice } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';
import { authenticationPage, completeAuthentication } from './authentication-page.ts';
import { checkoutPage, useCheckout } from './checkout.ts';
import { invoicePage, payInvoice, unknownInvoice } from './invoice-page.ts';
import { invoicePdf } from './invoice-pdf.ts';
import { html, page, stylesheetResponse } from './page.ts';
import { portalLogin, portalPage, usePortal } from './portal-page.ts';

/** The pages whose addresses the API returns. */
export const pageHandlers: Handlers = {
  'GET pages.css': () => stylesheetResponse,
  'GET authenticate/*': authenticationPage,
  'POST authenticate/*': completeAuthentication,
  // Payment pages have the path of the processor's own, /c/pay.
  'GET pay/*': checkoutPage,
  'POST pay/*': useCheckout,
  'GET portal/*': portalPage,
  'POST portal/*': usePortal,
  'GET portal_logins/*': (world, { id }) => portalLogin(world, id, ''),
  'POST portal_logins/*': (world, { id, body }) => portalLogin(world, id, body),
  'GET invoices/*': ofInvoice((world, invoice) => invoicePage(world, invoice)),
  'POST invoices/*': ofInvoice((world, invoice, body) => payInvoice(world, invoice, body)),
  'GET invoices/*/pdf': ofInvoice(({ store }, invoice) => invoicePdf(store, invoice)),
};

function ofInvoice(
  show: (world: World, invoice: Invoice, body: string) => Promise<ControlResponse> | ControlResponse,
): Handler {
  return (world, { id, body }) => {
    const invoice = world.store.invoices.get(id);
    // A draft has no address yet.
    return invoice === undefined || invoice.hosted_invoice_url == null
      ? unknownInvoice
      : show(world, invoice, body);
  };
}

/** Tells a person who opens the address of the sandbox what runs there, and how to use it. */
export const homePage = page({
  title: 'An offline Stripe',
  content: html`<p>This server speaks the API of Stripe, for tests and demos. Point the official client of any language
at this address, with any secret key that begins with <code>sk_test_</code>.</p>
<p>Its pages take these card numbers, with any date in the future and any security code:</p>
<table>
<thead><tr><th scope="col">Number</th><th scope="col">What happens</th></tr></thead>
<tbody>${testCards.map(
    (card) =>
      html`<tr><td><code>${card.number.replace(/.{4}(?=.)/g, '$& ')}</code></td><td>${describeTestCard(card)}</td></tr>
`,
  )}</tbody>
</table>
<p>Programs control the clock, the webhooks and the faults of the sandbox at <code>/sandbox</code>.</p>`,
});
