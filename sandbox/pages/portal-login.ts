import type { PortalSession } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';
import { callApi } from './call-api.ts';
import { html } from './html.ts';
import { page, seeOther } from './page.ts';

/** The page at `login_page.url` of a portal configuration. The processor sends a link by e-mail; here it opens at once. */
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
