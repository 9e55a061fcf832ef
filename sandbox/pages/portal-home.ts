import { periodOf } from '../billing/subscription-items.ts';
import { priceText } from '../payments/money.ts';
import type { Subscription } from '../wire/objects.ts';
import { cardName } from './card-name.ts';
import { type Html, html } from './html.ts';
import { type Portal, stepUrl } from './portal.ts';
import { day, planText, sentence } from './texts.ts';

/** What the customer has: plans, cards, billing information and invoices, as far as the configuration shows them. */
export function portalHome(portal: Portal): Html {
  return html`${plans(portal)}
${cards(portal)}
${details(portal)}
${invoices(portal)}`;
}

function plans(portal: Portal): Html {
  const { world, customer, configuration } = portal;
  const { subscription_cancel: cancel, subscription_update: update } = configuration.features;
  const live = world.store.subscriptions
    .allWithin('customer', customer.id)
    .filter(({ ended_at, status }) => ended_at === null && status !== 'incomplete');
  const rows = live.map((subscription) => {
    const { id: subscriptionId, cancel_at: ends, schedule } = subscription;
    const to = (step: string) => stepUrl(portal, { step, subscription: subscriptionId });
    const isEnding = ends !== null;
    return html`<li><span>${planText(world.store, subscription)}<br><small>${stateOf(subscription)}</small></span>
<span class="actions">${update.enabled && !isEnding ? html`<a href="${to('update')}">Change plan</a>` : null}
${cancel.enabled && !isEnding && schedule === null ? html`<a href="${to('cancel')}">Cancel plan</a>` : null}
${cancel.enabled && isEnding ? button(to('renew'), 'Keep plan') : null}</span></li>`;
  });
  return section('Your plan', rows.length === 0 ? html`<p>You have no plan.</p>` : html`<ul>${rows}</ul>`);
}

function stateOf(subscription: Subscription): string {
  const { status, cancel_at: ends, trial_end: trialEnd } = subscription;
  if (ends !== null) return `Ends on ${day(ends)}.`;
  if (status === 'trialing' && trialEnd !== null) return `Free trial until ${day(trialEnd)}.`;
  return status === 'active' ? `Renews on ${day(periodOf(subscription).end)}.` : `${sentence(status)}.`;
}

function cards(portal: Portal): Html | null {
  const { world, customer, configuration } = portal;
  if (!configuration.features.payment_method_update.enabled) return null;
  const standard = customer.invoice_settings.default_payment_method;
  const rows = world.store.paymentMethods.allWithin('customer', customer.id).map((method) => {
    const to = (step: string) => stepUrl(portal, { step, card: method.id });
    const name = cardName(method);
    const isDefault = method.id === standard;
    return html`<li><span>${name}${isDefault ? html` <small>Default</small>` : null}</span>
<span class="actions">${isDefault ? null : button(to('default_card'), 'Make default', `${name}: make default`)}
${button(to('remove_card'), 'Remove', `${name}: remove`)}</span></li>`;
  });
  return section(
    'Cards',
    html`${rows.length === 0 ? html`<p>You have no saved card.</p>` : html`<ul>${rows}</ul>`}
<p><a href="${stepUrl(portal, { step: 'card' })}">Add a card</a></p>`,
  );
}

function details(portal: Portal): Html | null {
  const { customer, configuration } = portal;
  if (!configuration.features.customer_update.enabled) return null;
  const { line1, line2, postal_code: code, city, state, country } = customer.address ?? {};
  const lines = [
    customer.name,
    customer.email,
    customer.phone,
    [line1, line2, [code, city].filter(Boolean).join(' '), state, country].filter(Boolean).join(', '),
  ].flatMap((text) => text || []);
  return section(
    'Billing information',
    html`<p>${lines.length === 0 ? 'None.' : lines.map((line, index) => html`${index === 0 ? null : html`<br>`}${line}`)}</p>
<p><a href="${stepUrl(portal, { step: 'details' })}">Update information</a></p>`,
  );
}

function invoices({ world, customer, configuration }: Portal): Html | null {
  if (!configuration.features.invoice_history.enabled) return null;
  const rows = world.store.invoices
    .allWithin('customer', customer.id)
    .toReversed()
    .flatMap(({ hosted_invoice_url: url, created, total, currency, status, number }) =>
      url == null
        ? []
        : [
            html`<tr><th scope="row"><a href="${url}">${number ?? day(created)}</a></th><td>${day(created)}</td><td>${sentence(status ?? '')}</td><td>${priceText(total, currency)}</td></tr>
`,
          ],
    );
  if (rows.length === 0) return section('Invoices', html`<p>You have no invoices.</p>`);
  return html`<table>
<caption>Invoices</caption>
<thead><tr><th scope="col">Number</th><th scope="col">Date</th><th scope="col">Status</th><th scope="col">Amount</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`;
}

function section(title: string, content: Html): Html {
  return html`<section>
<h2>${title}</h2>
${content}
</section>`;
}

/** The label says more than the text where several buttons have the same text. */
function button(action: string, text: string, label = text): Html {
  return html`<form method="post" action="${action}"><button aria-label="${label}">${text}</button></form>`;
}
