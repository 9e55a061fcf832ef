import { periodOf, productName } from '../billing/subscription-items.ts';
import { authenticationUrl } from '../control/customer.ts';
import type * as Wire from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { addressFields, addressIn } from './address-fields.ts';
import { callApi } from './call-api.ts';
import { cardChoice, chosenCard } from './card-choice.ts';
import { invoiceLines } from './invoice-page.ts';
import { type Html, html } from './page.ts';
import { cardIn, type Portal, portalForm, subscriptionIn } from './portal.ts';
import { day, planText, rateText, sentence } from './texts.ts';

/** One thing that a customer can do in the portal. */
interface Step {
  readonly title: string;
  readonly feature: keyof Wire.PortalConfiguration['features'];
  /** Without it, the button for the step is on the home page. */
  readonly form?: (portal: Portal) => Html | Promise<Html>;
  /** Returns the address of the bank's page if the bank has to confirm. */
  readonly act?: (portal: Portal, fields: URLSearchParams) => Promise<string | null>;
}

export const portalSteps: Readonly<Record<string, Step>> = {
  card: {
    title: 'Add a card',
    feature: 'payment_method_update',
    form: (portal) =>
      portalForm(
        portal,
        html`${cardChoice([])}
${portal.isInFlow ? null : html`<label class="check"><input type="checkbox" name="default" value="yes" checked> Use it for future payments</label>`}`,
        'Save card',
      ),
    act: saveCard,
  },
  default_card: {
    title: 'Your billing',
    feature: 'payment_method_update',
    act: async (portal) => makeDefault(portal, cardIn(portal).id),
  },
  remove_card: {
    title: 'Your billing',
    feature: 'payment_method_update',
    act: (portal) => change(portal, 'payment_methods.detach', cardIn(portal).id, {}),
  },
  details: {
    title: 'Billing information',
    feature: 'customer_update',
    form: (portal) => portalForm(portal, detailFields(portal), 'Save'),
    act: saveDetails,
  },
  cancel: {
    title: 'Cancel your plan',
    feature: 'subscription_cancel',
    form: cancelForm,
    act: cancel,
  },
  renew: {
    title: 'Your billing',
    feature: 'subscription_cancel',
    act: (portal) => {
      const { id, cancel_at_period_end: atPeriodEnd } = subscriptionIn(portal);
      const kept = atPeriodEnd ? { cancel_at_period_end: false } : { cancel_at: null };
      return change(portal, 'subscriptions.update', id, kept);
    },
  },
  update: {
    title: 'Change your plan',
    feature: 'subscription_update',
    form: planForm,
  },
  confirm: {
    title: 'Confirm your change',
    feature: 'subscription_update',
    form: confirmForm,
    act: changePlan,
  },
};

async function saveCard(portal: Portal, fields: URLSearchParams): Promise<string | null> {
  const { world, customer, isInFlow, query, session } = portal;
  const isDefault = isInFlow || (fields.get('default') ?? query.get('default')) === 'yes';
  const saved = fields.get('saved');
  if (saved !== null) return isDefault ? makeDefault(portal, saved) : null;
  const returned = new URLSearchParams({ default: isDefault ? 'yes' : 'no', ...Object.fromEntries(query) });
  const setup = await callApi<Wire.SetupIntent>(world, 'setup_intents.create', '', {
    ...chosenCard(fields),
    customer: customer.id,
    confirm: true,
    return_url: `${session.url}?${returned}`,
  });
  const bank = authenticationUrl(setup);
  if (bank !== null || !isDefault) return bank;
  return makeDefault(portal, setup.payment_method ?? '');
}

/** Changes an object as the API does. The bank has nothing to confirm. */
async function change({ world }: Portal, operation: string, id: string, fields: Fields): Promise<null> {
  await callApi(world, operation, id, fields);
  return null;
}

type Fields = Parameters<typeof callApi>[3];

async function makeDefault(portal: Portal, card: string): Promise<null> {
  const settings = { default_payment_method: card };
  return change(portal, 'customers.update', portal.customer.id, { invoice_settings: settings });
}

function detailFields({ customer, configuration }: Portal): Html {
  const allowed = configuration.features.customer_update.allowed_updates;
  const field = (name: string, label: string, autocomplete: string, value: string | null | undefined) =>
    html`<label>${label}
<input name="${name}" autocomplete="${autocomplete}" value="${value ?? ''}">
</label>`;
  const { address } = customer;
  return html`${allowed.includes('name') ? field('name', 'Name', 'name', customer.name) : null}
${allowed.includes('email') ? field('email', 'Email', 'email', customer.email) : null}
${allowed.includes('phone') ? field('phone', 'Phone number', 'tel', customer.phone) : null}
${allowed.includes('address') ? html`<fieldset><legend>Address</legend>${addressFields(address)}</fieldset>` : null}`;
}

async function saveDetails(portal: Portal, fields: URLSearchParams): Promise<null> {
  const allowed = portal.configuration.features.customer_update.allowed_updates;
  const contact = ['name', 'email', 'phone'].flatMap((name) =>
    allowed.includes(name) ? [[name, fields.get(name) ?? '']] : [],
  );
  const address = allowed.includes('address') ? { address: addressIn(fields) ?? '' } : {};
  const changed = { ...Object.fromEntries(contact), ...address };
  return change(portal, 'customers.update', portal.customer.id, changed);
}

function cancelForm(portal: Portal): Html {
  const { configuration, session, world } = portal;
  const subscription = subscriptionIn(portal);
  const { mode, cancellation_reason: reason } = configuration.features.subscription_cancel;
  const coupon = session.flow?.subscription_cancel?.retention?.coupon_offer?.coupon;
  const options = reason.options.map(
    (option) => html`<option value="${option}">${sentence(option)}</option>`,
  );
  return portalForm(
    portal,
    html`<p>${planText(world.store, subscription)}</p>
<p>${mode === 'immediately' ? 'Your plan ends now.' : `You keep your plan until ${day(periodOf(subscription).end)}. After that, you are not charged any more.`}</p>
${coupon === undefined || !portal.isInFlow ? null : html`<p>Stay, and get ${world.store.coupons.get(coupon)?.name ?? coupon}.</p><button name="stay" value="yes">Stay with the discount</button>`}
${reason.enabled ? html`<label>Why do you cancel? (optional)<select name="feedback"><option value="">No answer</option>${options}</select></label><label>Anything else? (optional)<textarea name="comment" rows="3"></textarea></label>` : null}`,
    'Cancel plan',
  );
}

/** In flexible billing mode, the processor's portal sets the date, and not `cancel_at_period_end`. */
async function cancel(portal: Portal, fields: URLSearchParams): Promise<null> {
  const { session } = portal;
  const subscription = subscriptionIn(portal);
  const { id, billing_mode: billing } = subscription;
  const coupon = session.flow?.subscription_cancel?.retention?.coupon_offer?.coupon;
  const { mode, proration_behavior: proration } = portal.configuration.features.subscription_cancel;
  const given = ['feedback', 'comment'].flatMap((name) =>
    fields.get(name) ? [[name, fields.get(name)]] : [],
  );
  const details = given.length === 0 ? {} : { cancellation_details: Object.fromEntries(given) };
  if (fields.get('stay') === 'yes' && coupon !== undefined)
    return change(portal, 'subscriptions.update', id, { discounts: [{ coupon }] });
  if (mode === 'immediately')
    return change(portal, 'subscriptions.cancel', id, {
      ...details,
      prorate: proration !== 'none',
      invoice_now: proration === 'always_invoice',
    });
  const isFlexible = billing.type === 'flexible';
  const ending = isFlexible ? { cancel_at: periodOf(subscription).end } : { cancel_at_period_end: true };
  return change(portal, 'subscriptions.update', id, { ...details, ...ending });
}

/** Leads to the confirmation, without changing anything. */
function planForm(portal: Portal): Html {
  const { configuration, path, query, world, isInFlow } = portal;
  const { default_allowed_updates: allowed, products } = configuration.features.subscription_update;
  const subscription = subscriptionIn(portal);
  const { item, offered } = offersOf(portal, subscription);
  const choices = offered.map(
    (price) =>
      html`<label class="check"><input type="radio" name="price" value="${price.id}"${price.id === item.price.id ? html` checked` : null}> ${productName(world.store, price)}, ${rateText(world.store, price)}</label>`,
  );
  const adjustable = products?.find(({ product }) => product === item.price.product)?.adjustable_quantity;
  return html`<form method="get" action="${path}">
<input type="hidden" name="step" value="confirm">
<input type="hidden" name="subscription" value="${query.get('subscription') ?? ''}">
${isInFlow ? null : html`<input type="hidden" name="home" value="">`}
<fieldset><legend>Plan</legend>${choices}</fieldset>
${allowed.includes('quantity') ? html`<label>Quantity<input type="number" name="quantity" min="${adjustable?.minimum ?? 1}" value="${item.quantity ?? 1}"></label>` : null}
${allowed.includes('promotion_code') ? html`<label>Promotion code (optional)<input name="code"></label>` : null}
<button class="main">Continue</button>
</form>`;
}

/** The prices to choose from: of the configuration, active, and in the currency of the subscription. */
function offersOf(
  { world: { store }, configuration }: Portal,
  { items }: Wire.Subscription,
): { readonly item: Wire.SubscriptionItem; readonly offered: readonly Wire.Price[] } {
  const [item, ...more] = items.data;
  if (item === undefined || more.length > 0)
    throw badParam('This plan has several items. It cannot be changed here.');
  const { products, default_allowed_updates: allowed } = configuration.features.subscription_update;
  const others = (allowed.includes('price') ? (products ?? []) : [])
    .flatMap(({ prices }) => prices)
    .flatMap((id) => store.prices.get(id) ?? [])
    .filter(({ id, active, currency }) => active && currency === item.price.currency && id !== item.price.id);
  return { item, offered: [item.price, ...others] };
}

/** Shows what the change costs before the customer makes it. */
async function confirmForm(portal: Portal): Promise<Html> {
  const { world } = portal;
  const { subscription, price, items, proration, anchor } = chosenChange(portal);
  const invoice = await callApi<Wire.Invoice>(world, 'invoices.create_preview', '', {
    subscription: subscription.id,
    subscription_details: { items, proration_behavior: proration, ...anchor },
  });
  return portalForm(
    portal,
    html`<p>Your new plan: ${productName(world.store, price)}, ${rateText(world.store, price)}.</p>
${invoiceLines(invoice, proration === 'always_invoice' ? 'Due today' : 'On your next invoice')}`,
    'Confirm',
  );
}

async function changePlan(portal: Portal): Promise<null> {
  const { subscription, items, proration, anchor } = chosenChange(portal);
  const { trial_update_behavior: trial } = portal.configuration.features.subscription_update;
  const discount = await addedDiscount(portal);
  const kept = subscription.discounts.map((id) => ({ discount: id }));
  return change(portal, 'subscriptions.update', subscription.id, {
    items,
    proration_behavior: proration,
    ...anchor,
    ...(proration === 'always_invoice' && { payment_behavior: 'error_if_incomplete' }),
    ...(subscription.status === 'trialing' && trial === 'end_trial' ? { trial_end: 'now' } : {}),
    ...(discount !== null && { discounts: [...kept, discount] }),
  });
}

function chosenChange(portal: Portal) {
  const { query, configuration } = portal;
  const subscription = subscriptionIn(portal);
  const { item, offered } = offersOf(portal, subscription);
  const wanted = query.get('price') || item.price.id;
  const price = offered.find(({ id }) => id === wanted);
  if (price === undefined) throw badParam('Choose one of the plans.', 'price');
  const { proration_behavior: proration, billing_cycle_anchor: type } =
    configuration.features.subscription_update;
  return {
    subscription,
    price,
    items: [{ id: item.id, price: price.id, quantity: query.get('quantity') || item.quantity }],
    proration,
    anchor: type === null ? {} : { billing_cycle_anchor: { type } },
  };
}

/** The discount of the flow, or of the code that the customer entered. */
async function addedDiscount({ world, customer, query, session, isInFlow }: Portal): Promise<object | null> {
  const [given] = (isInFlow ? session.flow?.subscription_update_confirm?.discounts : null) ?? [];
  if (given !== undefined)
    return given.coupon === null ? { promotion_code: given.promotion_code } : { coupon: given.coupon };
  const code = query.get('code') ?? '';
  if (code === '') return null;
  const { data } = await callApi<{ data: Wire.PromotionCode[] }>(world, 'promotion_codes.list', '', {
    code,
    active: true,
  });
  const found = data.find((one) => one.customer === null || one.customer === customer.id);
  if (found === undefined) throw badParam('This code is invalid.', 'code');
  return { promotion_code: found.id };
}
