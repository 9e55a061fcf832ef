import { periodOf } from '../billing/subscription-items.ts';
import type { Request } from '../control/handler.ts';
import { priceText } from '../payments/money.ts';
import type { PortalSession, Subscription } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { callApi } from './call-api.ts';
import { cardName } from './card-choice.ts';
import { type Html, html, page, seeOther } from './page.ts';
import { openedPortal, type Portal, stepUrl } from './portal.ts';
import { portalSteps } from './portal-steps.ts';
import { day, planText, sentence } from './texts.ts';

/** The page at the `url` of a portal session: its home, or one step, such as a cancellation. */
export async function portalPage(world: World, { id, query }: Request): Promise<ControlResponse> {
  const portal = openedPortal(world, id, query);
  if (portal === undefined) return expired;
  if (portal.query.has('done')) return completion(portal);
  const setup = world.store.setupIntents.get(portal.query.get('setup_intent') ?? '');
  // The customer comes from the bank, which had to confirm a new card.
  if (setup?.customer === portal.customer.id) {
    if (setup.status !== 'succeeded') return shown(portal, setup.last_setup_error?.message ?? null);
    return done(portal, new URLSearchParams({ saved: setup.payment_method ?? '' }));
  }
  return shown(portal);
}

/** Does what the customer chose on the page. */
export async function usePortal(world: World, { id, query, body }: Request): Promise<ControlResponse> {
  const portal = openedPortal(world, id, query);
  return portal === undefined ? expired : done(portal, new URLSearchParams(body));
}

async function done(portal: Portal, fields: URLSearchParams): Promise<ControlResponse> {
  const act = enabledStep(portal)?.act;
  if (act === undefined) return shown(portal);
  try {
    const bank = await act(portal, fields);
    return seeOther(bank ?? `${portal.path}?${portal.isInFlow ? 'done' : 'home'}`);
  } catch (error) {
    if (error instanceof WireError) return shown(portal, error.message);
    throw error;
  }
}

async function shown(portal: Portal, failure: string | null = null): Promise<ControlResponse> {
  const { title = '', form } = enabledStep(portal) ?? {};
  if (form === undefined) return shell(portal, 'Your billing', failure, portalHome(portal));
  try {
    return shell(portal, title, failure, await form(portal));
  } catch (error) {
    if (error instanceof WireError) return shell(portal, title, error.message, null);
    throw error;
  }
}

function enabledStep({ step, configuration }: Portal) {
  const found = Object.hasOwn(portalSteps, step) ? portalSteps[step] : undefined;
  return found !== undefined && configuration.features[found.feature].enabled ? found : undefined;
}

function shell(portal: Portal, title: string, failure: string | null, content: Html | null): ControlResponse {
  const { configuration, path, session, isInFlow, step } = portal;
  const {
    headline,
    privacy_policy_url: privacy,
    terms_of_service_url: terms,
  } = configuration.business_profile;
  const back =
    step !== '' && !isInFlow
      ? html`<a href="${path}?home">Back to your billing</a>`
      : session.return_url === null
        ? null
        : html`<a href="${session.return_url}">Return to Sandbox</a>`;
  return page({
    status: failure === null ? 200 : 400,
    title,
    content: html`${headline === null ? null : html`<p>${headline}</p>`}
${failure === null ? null : html`<p class="failed" role="alert">${failure}</p>`}
${content}
<p class="links">${back}
${terms === null ? null : html`<a href="${terms}">Terms</a>`}
${privacy === null ? null : html`<a href="${privacy}">Privacy</a>`}</p>`,
  });
}

/** What the flow of the session asks for when the customer is done. */
function completion({ session, path }: Portal): ControlResponse {
  const { type, redirect, hosted_confirmation: confirmation } = session.flow?.after_completion ?? {};
  if (type !== 'redirect' && type !== 'hosted_confirmation') return seeOther(`${path}?home`);
  const back = redirect?.return_url ?? session.return_url;
  return page({
    title: 'Done',
    content: html`<p>${confirmation?.custom_message ?? 'Your changes are saved.'}</p>
${back === null ? null : html`<p><a href="${back}">Return to Sandbox</a></p>`}`,
    continuesAt: redirect?.return_url ?? null,
  });
}

const expired = page({
  status: 404,
  title: 'Not found',
  content: html`<p>This link has expired. Go back to the merchant for a new one.</p>`,
});

/** What the customer has: plans, cards, billing information and invoices, as far as the configuration shows them. */
function portalHome(portal: Portal): Html {
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

/**
 * The page at `login_page.url` of a portal configuration. The processor sends a link by e-mail; here it opens at once.
 */
export async function portalLogin(world: World, id: string, body: string): Promise<ControlResponse> {
  const configuration = world.store.portalConfigurations.get(id);
  if (configuration?.login_page.enabled !== true)
    return page({ status: 404, title: 'Not found', content: html`<p>There is no such page.</p>` });
  const email = new URLSearchParams(body).get('email');
  const customer = world.store.customers
    .allWithin('email', email ?? '')
    .find(({ deleted }) => deleted !== true);
  if (customer !== undefined) {
    const fields = { customer: customer.id, configuration: id };
    return seeOther((await callApi<PortalSession>(world, 'portal_sessions.create', '', fields)).url);
  }
  return page({
    status: email === null ? 200 : 400,
    title: 'Sign in to your billing',
    content: html`${email === null ? null : html`<p class="failed" role="alert">There is no customer with this email.</p>`}
<form method="post" action="${world.basePath}/sandbox/portal_logins/${id}">
<label>Email
<input type="email" name="email" autocomplete="email" required>
</label>
<button class="main">Continue</button>
</form>`,
  });
}
