import type { ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { type Html, html } from './html.ts';
import { page, seeOther } from './page.ts';
import { openedPortal, type Portal } from './portal.ts';
import { portalHome } from './portal-home.ts';
import { portalSteps } from './portal-steps.ts';

/** The page at the `url` of a portal session: its home, or one step, such as a cancellation. */
export async function portalPage(world: World, id: string, query: string): Promise<ControlResponse> {
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
export async function usePortal(
  world: World,
  id: string,
  query: string,
  body: string,
): Promise<ControlResponse> {
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
