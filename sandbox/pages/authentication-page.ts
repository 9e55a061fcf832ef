import { isWebAddress } from '../control/control-input.ts';
import { authenticate } from '../control/customer.ts';
import type { Request } from '../control/handler.ts';
import type { Intent } from '../payments/intent.ts';
import { priceText } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';
import { cardName } from './card-choice.ts';
import { html, page, seeOther } from './page.ts';

/** The page that imitates the cardholder's bank. It requires the intent's client secret. */
export function authenticationPage(world: World, { id, query }: Request): ControlResponse {
  const intent = openedIntent(world.store, id, query);
  if (intent === undefined) return unknownLink;
  return intent.status === 'requires_action'
    ? question(world, intent, new URLSearchParams(query).has('framed'))
    : outcome(intent, returnUrlIn(query));
}

/** Applies what the cardholder chose, then shows the result. */
export async function completeAuthentication(world: World, request: Request): Promise<ControlResponse> {
  const { id, query, body } = request;
  const intent = openedIntent(world.store, id, query);
  if (intent === undefined) return unknownLink;
  if (intent.status === 'requires_action')
    await authenticate(world, id, new URLSearchParams(body).get('result') === 'succeeded');
  return seeOther(`${world.basePath}/sandbox/authenticate/${encodeURIComponent(id)}?${query}`);
}

const unknownLink = page({
  status: 404,
  title: 'Not found',
  framed: 'silent',
  content: html`<p>This link does not match any payment.</p>`,
});

function openedIntent(
  { paymentIntents, setupIntents }: Store,
  id: string,
  query: string,
): Intent | undefined {
  const intent = paymentIntents.get(id) ?? setupIntents.get(id);
  const secret = new URLSearchParams(query).get('secret');
  return secret !== null && intent?.client_secret === secret ? intent : undefined;
}

/** The buttons have the ids and, in the frame of the browser library, the texts of the processor's test page. */
function question({ store, basePath }: World, intent: Intent, isFramed: boolean): ControlResponse {
  const returnUrl = intent.next_action?.redirect_to_url?.return_url ?? '';
  const query = new URLSearchParams({ secret: intent.client_secret ?? '', return_url: returnUrl });
  const method = store.paymentMethods.get(intent.payment_method);
  const what = isFramed ? '' : ' authentication';
  const asked =
    intent.object === 'payment_intent'
      ? html`<p>Sandbox asks for a payment of</p><p class="amount">${priceText(intent.amount, intent.currency)}</p>`
      : html`<p>Sandbox asks to save your card for later payments. Nothing is charged now.</p>`;
  return page({
    title: 'Confirm with your bank',
    framed: 'silent',
    content: html`${asked}
<dl>
<dt>Merchant</dt><dd>Sandbox</dd>
<dt>Card</dt><dd>${method === undefined ? 'Unknown' : cardName(method)}</dd>
</dl>
<p>This page plays the bank of the cardholder.</p>
<form method="post" action="${basePath}/sandbox/authenticate/${encodeURIComponent(intent.id)}?${query.toString()}">
<button class="main" id="test-source-authorize-3ds" name="result" value="succeeded">${`Complete${what}`}</button>
<button id="test-source-fail-3ds" name="result" value="failed">${`Fail${what}`}</button>
</form>`,
  });
}

function outcome(intent: Intent, returnUrl: string | null): ControlResponse {
  const what = intent.object === 'payment_intent' ? 'payment' : 'card setup';
  const back = returnUrl === null ? null : withResult(returnUrl, intent);
  return page({
    framed: 'silent',
    title: hasFailed(intent) ? 'Authentication failed' : 'Authentication complete',
    content: html`<p>The ${what} is now <strong>${intent.status.replaceAll('_', ' ')}</strong>.</p>
${back === null ? html`<p>You can close this page.</p>` : html`<p><a href="${back}">Return to the merchant</a></p>`}`,
    continuesAt: back,
  });
}

function hasFailed({ status }: Intent): boolean {
  return status === 'requires_payment_method' || status === 'canceled';
}

function returnUrlIn(query: string): string | null {
  const url = new URLSearchParams(query).get('return_url') ?? '';
  return isWebAddress(url) ? url : null;
}

/** Adds the parameters that the processor adds to the return URL. */
function withResult(returnUrl: string, intent: Intent): string {
  const url = new URL(returnUrl);
  url.searchParams.set(intent.object, intent.id);
  url.searchParams.set(`${intent.object}_client_secret`, intent.client_secret ?? '');
  url.searchParams.set('redirect_status', hasFailed(intent) ? 'failed' : 'succeeded');
  return url.href;
}
