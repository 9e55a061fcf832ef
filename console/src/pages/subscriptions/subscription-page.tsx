import type { Entitlement, Plan, Subscription } from '@till/client';
import { useRoute } from 'preact-iso';
import { usePlans } from '../../api/use-plans.ts';
import { useResource } from '../../api/use-resource.ts';
import { localTime } from '../../format/local-time.ts';
import { listOf } from '../../links.ts';
import { Actions } from '../../parts/actions.tsx';
import { Page } from '../../parts/page.tsx';
import { RelatedList } from '../../parts/related-list.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { till } from '../../session.ts';
import { invoiceColumns } from '../invoices/invoice-columns.tsx';
import { paymentColumns } from '../payments/payments-page.tsx';
import type { Around } from './around.ts';
import { subscriptionActions } from './subscription-actions.tsx';
import { SubscriptionDetails } from './subscription-details.tsx';
import { hasEnded, termsText } from './terms.ts';

export function SubscriptionPage() {
  const { id = '' } = useRoute().params;
  const plans = usePlans();
  const subscription = useResource(
    (options) => till().subscriptions.get(id, { include: 'customer' }, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  return (
    <Show resource={subscription} heading="Subscription">
      {(value) => (
        <Show resource={plans} heading="Subscription">
          {(all) => <Loaded subscription={value} plans={all} onActed={subscription.reload} />}
        </Show>
      )}
    </Show>
  );
}

function Loaded({
  subscription,
  plans,
  onActed,
}: {
  readonly subscription: Subscription;
  readonly plans: readonly Plan[];
  readonly onActed: () => void;
}) {
  const { id, customerId } = subscription;
  const cards = useResource(
    (options) => till().customers.paymentMethods(customerId).list(options),
    [customerId],
  );
  const around: Around = {
    subscription,
    plans,
    cards: cards.value ?? [],
    entitlement: useEntitlement(subscription),
  };
  const isOfThis = (type: string) => (event: { readonly objectType: string; readonly data: object }) =>
    event.objectType === type && 'subscriptionId' in event.data && event.data.subscriptionId === id;
  return (
    <Page
      title={termsText(plans, subscription)}
      aside={<Status value={subscription.status} />}
      actions={<Actions of={subscriptionActions} about={around} onActed={onActed} />}
    >
      <Announcements subscription={subscription} plans={plans} />
      <SubscriptionDetails {...around} onSaved={onActed} />
      <RelatedList
        title="Invoices"
        list={(limit, options) => till().invoices.list({ subscriptionId: id, limit }, options)}
        all={listOf('invoice', { subscriptionId: id })}
        empty="No invoices."
        columns={invoiceColumns}
        keyOf={(invoice) => invoice.id}
        reloadOn={isOfThis('invoice')}
      />
      <RelatedList
        title="Payments"
        list={(limit, options) => till().payments.list({ subscriptionId: id, limit }, options)}
        all={listOf('payment', { subscriptionId: id })}
        empty="No payments."
        columns={paymentColumns}
        keyOf={(payment) => payment.id}
        reloadOn={isOfThis('payment')}
      />
      <Timeline of={{ objectId: id }} />
    </Page>
  );
}

/** Why the subscription entitles its customer or not. Undefined if it is not known. */
function useEntitlement({ id, customerId }: Subscription): Entitlement | undefined {
  const { value } = useResource(
    (options) => till().customers.entitlements(customerId, options),
    [customerId],
    ({ objectId }) => objectId === id,
  );
  return value?.subscriptions.find(({ subscriptionId }) => subscriptionId === id);
}

/** What is going to happen to the subscription. */
function Announcements({
  subscription,
  plans,
}: {
  readonly subscription: Subscription;
  readonly plans: readonly Plan[];
}) {
  const { pendingChange, cancelAt } = subscription;
  if (hasEnded(subscription)) return null;
  const waiting = pendingChange === null ? '' : termsText(plans, pendingChange);
  return (
    <>
      {cancelAt !== null && <p class="banner">Ends on {localTime(cancelAt)}.</p>}
      {pendingChange !== null && (
        <p class="banner">
          {pendingChange.at === null
            ? `A change to ${waiting} waits: the customer has to authenticate its payment.`
            : `Changes to ${waiting} on ${localTime(pendingChange.at)}.`}
        </p>
      )}
    </>
  );
}
