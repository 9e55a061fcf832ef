import type * as Wire from '../wire/objects.ts';
import { missing } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { type Html, html } from './page.ts';

/** A portal session that a customer has opened. */
export interface Portal {
  readonly world: World;
  readonly session: Wire.PortalSession;
  readonly configuration: Wire.PortalConfiguration;
  readonly customer: Wire.Customer;
  /** The path of the page. */
  readonly path: string;
  /** What the page shows: the step, and the objects that the step is about. */
  readonly query: URLSearchParams;
  /** Empty for the home page. */
  readonly step: string;
  /** Whether the customer sees only the one flow that the session is for. */
  readonly isInFlow: boolean;
}

/** As at the processor, the link of a session works only for a short time. */
const sessionLifeSeconds = 3_600;

/** Undefined if the session does not exist any more. */
export function openedPortal(world: World, id: string, query: string): Portal | undefined {
  const { store, basePath } = world;
  const session = store.portalSessions.get(id);
  const configuration = store.portalConfigurations.get(session?.configuration);
  const customer = store.customers.get(session?.customer);
  if (session === undefined || configuration === undefined || customer === undefined || customer.deleted)
    return undefined;
  if (store.worldNow() > session.created + sessionLifeSeconds) return undefined;
  const given = new URLSearchParams(query);
  const isInFlow = session.flow !== null && !given.has('home');
  const opened =
    session.flow !== null && isInFlow && !given.has('step') && !given.has('done')
      ? queryOf(session.flow)
      : given;
  return {
    world,
    session,
    configuration,
    customer,
    path: `${basePath}/sandbox/portal/${id}`,
    query: opened,
    step: opened.get('step') ?? '',
    isInFlow,
  };
}

const flowSteps: Readonly<Record<string, string>> = {
  customer_update: 'details',
  payment_method_update: 'card',
  subscription_cancel: 'cancel',
  subscription_update: 'update',
  subscription_update_confirm: 'confirm',
};

function queryOf(flow: NonNullable<Wire.PortalSession['flow']>): URLSearchParams {
  const { subscription_cancel: cancel, subscription_update: update } = flow;
  const confirm = flow.subscription_update_confirm;
  const [item] = confirm?.items ?? [];
  return new URLSearchParams({
    step: flowSteps[flow.type] ?? '',
    subscription: (cancel ?? update ?? confirm)?.subscription ?? '',
    price: item?.price ?? '',
    quantity: String(item?.quantity ?? ''),
  });
}

/** The address of another step. */
export function stepUrl({ path, isInFlow }: Portal, fields: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams({ ...fields, ...(isInFlow ? {} : { home: '' }) })}`;
}

/** The subscription that the step is about. */
export function subscriptionIn({ world: { store }, customer, query }: Portal): Wire.Subscription {
  const found = store.subscriptions.existing(query.get('subscription') ?? '', 'subscription');
  if (found.customer !== customer.id || found.ended_at !== null)
    throw missing('subscription', found.id, 'subscription');
  return found;
}

/** The card that the step is about. */
export function cardIn({ world: { store }, customer, query }: Portal): Wire.PaymentMethod {
  const found = store.paymentMethods.existing(query.get('card') ?? '', 'card');
  if (found.customer !== customer.id) throw missing('PaymentMethod', found.id, 'card');
  return found;
}

/** A form that does the step. */
export function portalForm({ path, query }: Portal, content: Html, label: string): Html {
  return html`<form method="post" action="${path}?${query.toString()}">
${content}
<button class="main">${label}</button>
</form>`;
}
