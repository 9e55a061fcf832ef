import { needsCard } from '../checkout/complete.ts';
import { hasTrial, sessionIntent } from '../checkout/session.ts';
import { authenticationUrl } from '../control/customer.ts';
import { priceText } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { CheckoutSession, LineItem, PaymentMethod } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';
import { addressFields } from './address-fields.ts';
import { cardChoice } from './card-choice.ts';
import { type Html, html } from './html.ts';
import { page } from './page.ts';
import { day, rateText } from './texts.ts';

type Details = PaymentMethod['billing_details'];

/** The page on which the buyer pays: what is bought, and the form. */
export function paymentPage(
  world: World,
  session: CheckoutSession,
  path: string,
  refusal: { readonly message: string; readonly entered: Details } | null = null,
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
${buyerFields(store, session, refusal?.entered ?? session.terms.buyer)}
<button class="main" data-testid="hosted-payment-submit-button">${buttonText(session)}</button>
</form>
${session.cancel_url === null ? null : html`<p><a href="${filled(session.cancel_url, session)}">Back to Sandbox</a></p>`}
</section>`,
  });
}

/** Only sessions for a frame have a client secret. */
export function framedAs({ client_secret: secret }: CheckoutSession): 'reporting' | undefined {
  return secret === null ? undefined : 'reporting';
}

/** The address, with the id of the session where the application wants it. */
export function filled(url: string, { id }: CheckoutSession): string {
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

function buyerFields(store: Store, session: CheckoutSession, entered: Details | null): Html {
  const {
    customer: id,
    customer_email: email,
    tax_id_collection: tax,
    consent_collection: consent,
  } = session;
  const customer = store.customers.get(id);
  const known = customer === undefined || customer.deleted ? null : customer;
  const isWhole = session.billing_address_collection === 'required' || session.automatic_tax.enabled;
  const address = addressFields(entered?.address ?? known?.address, isWhole);
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
${needsCard(store, session) ? cardChoice(saved, isWhole ? null : address) : null}
${isWhole ? html`<fieldset><legend>Billing address</legend>${address}</fieldset>` : null}
${tax?.enabled === true ? html`<label>Tax ID${tax.required === 'never' ? ' (optional)' : null}<input id="taxId" name="taxId" value="${entered?.tax_id ?? ''}"></label>` : null}
${consent?.terms_of_service === 'required' ? html`<label class="check"><input id="termsOfServiceConsentCheckbox" type="checkbox" name="terms" required> I agree to the terms of service.</label>` : null}`;
}
