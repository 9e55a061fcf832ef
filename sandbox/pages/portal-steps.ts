import { authenticationUrl } from '../control/customer.ts';
import type { PortalConfiguration, SetupIntent } from '../wire/objects.ts';
import { addressFields, addressIn } from './address-fields.ts';
import { callApi } from './call-api.ts';
import { cardChoice, chosenCard } from './card-choice.ts';
import { type Html, html } from './html.ts';
import { cardIn, type Portal, portalForm, subscriptionIn } from './portal.ts';
import { cancel, cancelForm, changePlan, confirmForm, planForm } from './portal-plan-steps.ts';

/** One thing that a customer can do in the portal. */
interface Step {
  readonly title: string;
  readonly feature: keyof PortalConfiguration['features'];
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
    act: async (portal) => {
      await callApi(portal.world, 'payment_methods.detach', cardIn(portal).id, {});
      return null;
    },
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
    act: async (portal) => {
      const { id, cancel_at_period_end: atPeriodEnd } = subscriptionIn(portal);
      const change = atPeriodEnd ? { cancel_at_period_end: false } : { cancel_at: null };
      await callApi(portal.world, 'subscriptions.update', id, change);
      return null;
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
  const setup = await callApi<SetupIntent>(world, 'setup_intents.create', '', {
    ...chosenCard(fields),
    customer: customer.id,
    confirm: true,
    return_url: `${session.url}?${returned}`,
  });
  const bank = authenticationUrl(setup);
  if (bank !== null || !isDefault) return bank;
  return makeDefault(portal, setup.payment_method ?? '');
}

async function makeDefault({ world, customer }: Portal, card: string): Promise<null> {
  await callApi(world, 'customers.update', customer.id, {
    invoice_settings: { default_payment_method: card },
  });
  return null;
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

async function saveDetails(
  { world, customer, configuration }: Portal,
  fields: URLSearchParams,
): Promise<null> {
  const allowed = configuration.features.customer_update.allowed_updates;
  const contact = ['name', 'email', 'phone'].flatMap((name) =>
    allowed.includes(name) ? [[name, fields.get(name) ?? '']] : [],
  );
  const address = allowed.includes('address') ? { address: addressIn(fields) ?? '' } : {};
  await callApi(world, 'customers.update', customer.id, { ...Object.fromEntries(contact), ...address });
  return null;
}
