import { followPaymentIntent, followSetupIntent } from '../billing/follow-payment.ts';
import { display } from '../payments/money.ts';
import { completeAuthentication } from '../payments/payment-intent.ts';
import { completeSetupAuthentication } from '../payments/setup-intent.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent, SetupIntent } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import { missing } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';

/** Completes the authentication that an intent requires, as the cardholder would. */
export function completeIntent(store: Store, id: string, succeeded: boolean): PaymentIntent | SetupIntent {
  const payment = store.paymentIntents.get(id);
  if (payment !== undefined) {
    const { intent } = completeAuthentication(store, payment, succeeded);
    followPaymentIntent(store, intent);
    return intent;
  }
  const setup = store.setupIntents.get(id);
  if (setup === undefined) throw missing('intent', id);
  const { intent } = completeSetupAuthentication(store, setup, succeeded);
  followSetupIntent(store, intent);
  return intent;
}

/** The page that plays the cardholder's bank. It requires the intent's client secret. */
export function authenticationPage({ store, basePath }: World, id: string, query: string): ControlResponse {
  const intent = store.paymentIntents.get(id) ?? store.setupIntents.get(id);
  const secret = new URLSearchParams(query).get('secret');
  if (intent === undefined || secret === null || intent.client_secret !== secret)
    return { status: 404, body: page('Not found', '<p>This link does not match any payment.</p>') };
  if (intent.status !== 'requires_action') {
    const back = returnUrlOf(query);
    return back === null
      ? {
          status: 200,
          body: page(
            'Done',
            `<p>The payment is now <strong>${escapeHtml(intent.status)}</strong>. You can close this page.</p>`,
          ),
        }
      : {
          status: 303,
          body: page('Done', '<p>Redirecting…</p>'),
          headers: { location: withResult(back, intent) },
        };
  }
  const amount = intent.object === 'payment_intent' ? display(intent.amount, intent.currency) : 'none';
  const returnUrl = intent.next_action?.redirect_to_url?.return_url ?? '';
  const action = `${basePath}/sandbox/authenticate/${encodeURIComponent(id)}?secret=${encodeURIComponent(secret)}&return_url=${encodeURIComponent(returnUrl)}`;
  return {
    status: 200,
    body: page(
      'Authenticate',
      `<p>The sandbox plays the cardholder's bank. Amount: ${escapeHtml(amount)}.</p>
<form method="post" action="${escapeHtml(action)}">
<button name="result" value="succeeded">Complete</button>
<button name="result" value="failed">Fail</button>
</form>`,
    ),
  };
}

/** The page at `hosted_invoice_url`. */
export function invoicePage(store: Store, id: string): ControlResponse {
  const invoice = store.invoices.get(id);
  if (invoice === undefined)
    return { status: 404, body: page('Not found', '<p>There is no such invoice.</p>') };
  return {
    status: 200,
    body: page(
      `Invoice ${invoice.number ?? invoice.id}`,
      `<p>${escapeHtml(display(invoice.amount_due, invoice.currency))}, ${escapeHtml(invoice.status ?? '')}.</p>`,
    ),
  };
}

function returnUrlOf(query: string): string | null {
  const url = new URLSearchParams(query).get('return_url') ?? '';
  return /^https?:\/\//.test(url) && URL.canParse(url) ? url : null;
}

/** Adds the parameters that the processor adds to the return URL. */
function withResult(returnUrl: string, intent: PaymentIntent | SetupIntent): string {
  const url = new URL(returnUrl);
  url.searchParams.set(intent.object, intent.id);
  url.searchParams.set(`${intent.object}_client_secret`, intent.client_secret ?? '');
  url.searchParams.set('redirect_status', intent.status === 'succeeded' ? 'succeeded' : 'failed');
  return url.href;
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}</style>
</head><body><h1>${escapeHtml(title)}</h1>
${content}
</body></html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
