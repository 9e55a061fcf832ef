import { enterPromotionCode } from '../checkout/change.ts';
import { type Buyer, needsCard } from '../checkout/complete.ts';
import { hasTrial, pageUrl, sessionIntent } from '../checkout/session.ts';
import { awaitWebhook, completeCheckout } from '../control/checkout.ts';
import { authenticationUrl } from '../control/customer.ts';
import type { Request } from '../control/handler.ts';
import { livingCustomer } from '../payments/customer.ts';
import { priceText } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { CheckoutSession, Customer, LineItem, PaymentMethod } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import { badParam, WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { addressFields, addressIn } from './address-fields.ts';
import { cardChoice, chosenMethod } from './card-choice.ts';
import { type Html, html, page, seeOther } from './page.ts';
import { day, rateText } from './texts.ts';

/** The page of a checkout session: the payment page while the session is open. */
export async function checkoutPage(world: World, { id, query }: Request): Promise<ControlResponse> {
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
export async function useCheckout(world: World, { id, query, body }: Request): Promise<ControlResponse> {
  const opened = openedSession(world, id, query);
  if (opened === undefined) return unknownSession;
  const { session, path } = opened;
  const fields = new URLSearchParams(body);
  const details = detailsIn(session, fields);
  try {
    if (session.status === 'open' && fields.has('promotion_code')) {
      const code = fields.get('promotion_code') || null;
      const { store } = world;
      await world.act(store.checkoutSessions, id, () =>
        enterPromotionCode(store, store.checkoutSessions.existing(id), code),
      );
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
    return paymentPage(world, current, path, { message: error.message, entered: details, fields });
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

function detailsIn({ customer_email: email }: CheckoutSession, fields: URLSearchParams): Buyer['details'] {
  const text = (name: string) => fields.get(name)?.trim() || null;
  return {
    address: addressIn(fields),
    email: email ?? text('email'),
    name: text('billingName'),
    phone: text('phone'),
    tax_id: text('taxId'),
  };
}

/** Where the order is sent. Throws if the buyer has to say it and did not. */
function shippingIn({ shipping_address_collection: asked }: CheckoutSession, fields: URLSearchParams) {
  if (asked === null) return null;
  const address = addressIn(fields, 'shipping');
  const name = fields.get('shippingName')?.trim() ?? '';
  // The package's type has a list of countries. The address can have any text.
  const allowed: readonly string[] = asked.allowed_countries;
  if (address === null || address.line1 === null || name === '' || !allowed.includes(address.country ?? ''))
    throw badParam('Your shipping address is incomplete.', 'shipping[address]');
  return { address, name };
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
  const shipping = shippingIn(session, fields);
  const method = needsCard(store, session) ? chosenMethod(store, fields, session.customer) : null;
  return { method, details, shipping };
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

type Details = PaymentMethod['billing_details'];

/** The page on which the buyer pays: what is bought, and the form. */
function paymentPage(
  world: World,
  session: CheckoutSession,
  path: string,
  refusal: { message: string; entered: Details; fields: URLSearchParams } | null = null,
): ControlResponse {
  const { store } = world;
  const intent = sessionIntent(store, session);
  const declined = intent?.object === 'setup_intent' ? intent.last_setup_error : intent?.last_payment_error;
  const failure = refusal?.message ?? declined?.message;
  const bank = intent?.status === 'requires_action' ? authenticationUrl(intent) : null;
  return page({
    status: refusal === null ? 200 : 400,
    title: titleOf(session),
    isWide: session.mode !== 'setup',
    framed: framedAs(session),
    content: html`${session.mode === 'setup' ? null : summary(store, session, path)}
<section aria-labelledby="pay">
<h2 id="pay">${session.mode === 'setup' ? 'Your card' : 'Payment'}</h2>
${failure === undefined ? null : html`<p class="failed" role="alert">${failure}</p>`}
${bank === null ? null : html`<p>The last payment waits for your bank. <a href="${bank}">Confirm it</a>, or pay with another card.</p>`}
<form method="post" action="${path}">
${buyerFields(store, session, refusal?.entered ?? session.terms.buyer, refusal?.fields)}
<button class="main" data-testid="hosted-payment-submit-button">${buttonText(session)}</button>
</form>
${session.cancel_url === null ? null : html`<p><a href="${filled(session.cancel_url, session)}">Back to Sandbox</a></p>`}
</section>`,
  });
}

/** Only sessions for a frame have a client secret. */
function framedAs({ client_secret: secret }: CheckoutSession): 'reporting' | undefined {
  return secret === null ? undefined : 'reporting';
}

/** The address, with the id of the session where the application wants it. */
function filled(url: string, { id }: CheckoutSession): string {
  return url.replaceAll('{CHECKOUT_SESSION_ID}', id);
}

function titleOf(session: CheckoutSession): string {
  const { mode, terms } = session;
  if (mode === 'setup') return 'Save your card';
  if (mode === 'payment') return 'Pay Sandbox';
  const [first] = terms.lines.filter(isRecurring);
  return `${hasTrial(session) ? 'Try' : 'Subscribe to'} ${first?.description ?? 'Sandbox'}`;
}

function buttonText(session: CheckoutSession): string {
  const { mode, currency, amount_total: total, submit_type: type } = session;
  if (mode === 'setup') return 'Save card';
  if (mode === 'subscription') return hasTrial(session) ? 'Start trial' : 'Subscribe';
  const verb = type === 'book' ? 'Book' : type === 'donate' ? 'Donate' : 'Pay';
  return `${verb} ${priceText(total ?? 0, currency ?? '')}`;
}

const isRecurring = ({ price }: LineItem) => price.recurring !== null;

function summary(store: Store, session: CheckoutSession, path: string): Html {
  const { amount_subtotal: subtotal, amount_total: total, total_details: totals, terms } = session;
  const text = (amount: number | null | undefined) => priceText(amount ?? 0, session.currency ?? '');
  const rows = terms.lines.map(
    (line) =>
      html`<tr><th scope="row">${line.description}${line.quantity === 1 ? null : ` × ${line.quantity ?? 1}`}${isRecurring(line) ? html`<br><small>${rateText(store, line.price, line.quantity ?? 1)}</small>` : null}</th><td>${text(line.amount_subtotal)}</td></tr>
`,
  );
  const sum = (name: string, amount: number | null) =>
    html`<tr><th scope="row">${name}</th><td>${text(amount)}</td></tr>
`;
  const discount = totals?.amount_discount ?? 0;
  const tax = totals?.amount_tax ?? 0;
  return html`<section aria-label="Order summary">
<p class="amount">${text(total)}</p>
${afterwards(store, session)}
<table>
<caption>Your order</caption>
<thead><tr><th scope="col">Item</th><th scope="col">Amount</th></tr></thead>
<tbody>
${rows}</tbody>
<tfoot>
${discount === 0 && tax === 0 ? null : sum('Subtotal', subtotal)}${discount === 0 ? null : sum('Discount', -discount)}${tax === 0 ? null : sum('Tax', tax)}${sum('Total due today', total)}</tfoot>
</table>
${session.allow_promotion_codes === true ? promotion(store, session, path) : null}
</section>`;
}

/** What the buyer pays later: `14 days free, then $9.00 per month`. */
function afterwards(store: Store, session: CheckoutSession): Html | null {
  const { lines, subscription } = session.terms;
  const rates = lines.filter(isRecurring).map((line) => rateText(store, line.price, line.quantity ?? 1));
  if (rates.length === 0) return null;
  const { trialDays: days, trialEnd: end } = subscription;
  const free = days === null ? `Free until ${day(end ?? 0)}` : `${days} ${days === 1 ? 'day' : 'days'} free`;
  return html`<p>${hasTrial(session) ? `${free}, then ` : null}${rates.join(' and ')}</p>`;
}

function promotion(store: Store, { discounts }: CheckoutSession, path: string): Html {
  const code = store.promotionCodes.get(discounts[0]?.promotion_code ?? '')?.code;
  if (code !== undefined)
    return html`<form method="post" action="${path}"><button name="promotion_code" value="">Remove ${code}</button></form>`;
  return html`<form class="row" method="post" action="${path}">
<label>Promotion code
<input id="promotionCode" name="promotion_code" autocomplete="off" required>
</label>
<button>Apply</button>
</form>`;
}

function buyerFields(
  store: Store,
  session: CheckoutSession,
  entered: Details | null,
  fields?: URLSearchParams,
): Html {
  const {
    customer: id,
    customer_email: email,
    tax_id_collection: tax,
    consent_collection: consent,
  } = session;
  const known = livingCustomer(store, id);
  const isWhole = session.billing_address_collection === 'required' || session.automatic_tax.enabled;
  const address = addressFields(entered?.address ?? known?.address, { isWhole });
  const saved =
    known === null || session.mode === 'setup' ? [] : store.paymentMethods.allWithin('customer', known.id);
  const shownEmail = known?.email ?? email;
  return html`${
    shownEmail === null && known === null
      ? html`<label>Email
<input id="email" type="email" name="email" autocomplete="email" value="${entered?.email ?? ''}" required>
</label>`
      : html`<p>${shownEmail ?? known?.name ?? null}</p>`
  }
${session.phone_number_collection?.enabled === true ? html`<label>Phone number<input id="phoneNumber" type="tel" name="phone" autocomplete="tel" value="${entered?.phone ?? ''}" required></label>` : null}
${shippingFields(session, known?.shipping ?? null, fields)}
${needsCard(store, session) ? cardChoice(saved, isWhole ? null : address) : null}
${isWhole ? html`<fieldset><legend>Billing address</legend>${address}</fieldset>` : null}
${tax?.enabled === true ? html`<label>Tax ID${tax.required === 'never' ? ' (optional)' : null}<input id="taxId" name="taxId" value="${entered?.tax_id ?? ''}"></label>` : null}
${consent?.terms_of_service === 'required' ? html`<label class="check"><input id="termsOfServiceConsentCheckbox" type="checkbox" name="terms" required> I agree to the terms of service.</label>` : null}`;
}

function shippingFields(
  { shipping_address_collection: asked, terms: { shipping } }: CheckoutSession,
  known: Customer['shipping'],
  fields = new URLSearchParams(),
): Html | null {
  if (asked === null) return null;
  const name = fields.get('shippingName') ?? (shipping ?? known)?.name ?? '';
  const address = addressIn(fields, 'shipping') ?? (shipping ?? known)?.address;
  return html`<fieldset><legend>Shipping address</legend>
<label>Full name<input id="shippingName" name="shippingName" autocomplete="shipping name" value="${name}" required></label>
${addressFields(address, { purpose: 'shipping', allowed: asked.allowed_countries })}</fieldset>`;
}
