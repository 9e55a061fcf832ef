import { enterPromotionCode } from '../checkout/change.ts';
import { type Buyer, needsCard } from '../checkout/complete.ts';
import { pageUrl } from '../checkout/session.ts';
import { awaitWebhook, completeCheckout } from '../control/checkout.ts';
import { noAddress } from '../payments/address.ts';
import type { CheckoutSession } from '../wire/objects.ts';
import { objectTime } from '../wire/request-clock.ts';
import type { ControlResponse } from '../wire/server.ts';
import { badParam, WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { addressIn } from './address-fields.ts';
import { chosenMethod } from './card-choice.ts';
import { filled, framedAs, paymentPage } from './checkout-page.ts';
import { html } from './html.ts';
import { page, seeOther } from './page.ts';

/** The page of a checkout session: the payment page while the session is open. */
export async function checkoutPage(world: World, id: string, query: string): Promise<ControlResponse> {
  const opened = openedSession(world, id, query);
  if (opened === undefined) return unknownSession;
  const { session, path } = opened;
  if (session.status === 'open') return paymentPage(world, session, path);
  if (session.status === 'expired')
    return page({
      title: 'This page has expired',
      framed: framedAs(session),
      content: html`<p>You have not been charged.</p>
${session.cancel_url === null ? null : html`<p><a href="${filled(session.cancel_url, session)}">Back to Sandbox</a></p>`}`,
    });
  const params = new URLSearchParams(query);
  const isReturning = params.has('done') || params.get('redirect_status') === 'succeeded';
  // As at the processor, the application has usually heard of the purchase when the buyer returns.
  if (isReturning) await awaitWebhook(world, id);
  return completed(session, isReturning);
}

/** Pays as the buyer would, or changes the promotion code. */
export async function useCheckout(
  world: World,
  id: string,
  query: string,
  body: string,
): Promise<ControlResponse> {
  const opened = openedSession(world, id, query);
  if (opened === undefined) return unknownSession;
  const { session, path } = opened;
  const fields = new URLSearchParams(body);
  const details = detailsIn(session, fields);
  try {
    if (session.status === 'open' && fields.has('promotion_code')) {
      await changeCode(world, session, fields.get('promotion_code') || null);
      return seeOther(path);
    }
    const enter = (current: CheckoutSession) => entered(world, current, fields, details);
    if (session.status === 'open') {
      const { authenticateUrl, session: after } = await completeCheckout(world, id, enter);
      if (after.status === 'open') return seeOther(authenticateUrl ?? path);
    }
    return seeOther(`${path}${path.includes('?') ? '&' : '?'}done`);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const current = world.store.checkoutSessions.get(id) ?? session;
    return paymentPage(world, current, path, { message: error.message, entered: details });
  }
}

/** The address is enough to open a hosted page. A page in a frame needs its secret. */
function openedSession({ store, basePath }: World, id: string, query: string) {
  const session = store.checkoutSessions.get(id);
  if (session === undefined) return undefined;
  const { client_secret: secret } = session;
  if (secret !== null && secret !== new URLSearchParams(query).get('secret')) return undefined;
  return { session, path: pageUrl(session, basePath) };
}

async function changeCode({ store }: World, { id }: CheckoutSession, code: string | null): Promise<void> {
  store.clock.at(objectTime(store, store.checkoutSessions.name, id), () =>
    store.transact(null, () => {
      const session = store.checkoutSessions.get(id);
      if (session !== undefined) enterPromotionCode(store, session, code);
    }),
  );
  await store.written();
}

function detailsIn({ customer_email: email }: CheckoutSession, fields: URLSearchParams): Buyer['details'] {
  const text = (name: string) => fields.get(name)?.trim() || null;
  const address = addressIn(fields);
  const parts = Object.entries(address ?? {}).filter(([, value]) => value !== '');
  return {
    address: address === null ? null : { ...noAddress, ...Object.fromEntries(parts) },
    email: email ?? text('email'),
    name: text('billingName'),
    phone: text('phone'),
    tax_id: text('taxId'),
  };
}

function entered(
  { store }: World,
  session: CheckoutSession,
  fields: URLSearchParams,
  details: Buyer['details'],
): Buyer {
  if (session.customer === null && !/^[^\s@]+@[^\s@]+$/.test(details.email ?? ''))
    throw badParam('Your email address is incomplete.', 'email', 'email_invalid');
  const { country = null, line1 = null } = details.address ?? {};
  if (session.billing_address_collection === 'required' && (country === null || line1 === null))
    throw badParam('Your billing address is incomplete.', 'billing_details[address]');
  const method = needsCard(store, session) ? chosenMethod(store, fields, session.customer) : null;
  return { method, details };
}

const unknownSession = page({
  status: 404,
  title: 'Not found',
  framed: 'silent',
  content: html`<p>There is no such page. Go back to the merchant and try again.</p>`,
});

/** Leads back to the merchant, unless the buyer opens an old link. A frame tells the page around it. */
function completed(session: CheckoutSession, isReturning: boolean): ControlResponse {
  const { success_url: success, return_url: back, redirect_on_completion: redirects } = session;
  const framed = framedAs(session);
  const target = framed === undefined ? success : redirects === 'always' ? back : null;
  const url = target == null ? null : filled(target, session);
  return page({
    title: session.mode === 'setup' ? 'Your card is saved' : 'Thank you',
    framed,
    content: html`<p data-completed="${url}">${session.mode === 'setup' ? 'You can use it from now on.' : 'Your order is complete.'}</p>
${url === null || framed !== undefined ? null : html`<p><a href="${url}">Return to Sandbox</a></p>`}`,
    continuesAt: isReturning && framed === undefined ? url : null,
  });
}
