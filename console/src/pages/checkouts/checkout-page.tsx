import type { Checkout } from '@till/client';
import { useRoute } from 'preact-iso';
import { planOf, usePlans } from '../../api/use-plans.ts';
import { useResource } from '../../api/use-resource.ts';
import { plural, words } from '../../format/words.ts';
import { type Action, Actions } from '../../parts/actions.tsx';
import { copyText } from '../../parts/copy-text.ts';
import { CustomerById } from '../../parts/customer-link.tsx';
import { Fields, Metadata } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { Id, linkTo, OutsideLink, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { AddOns } from '../subscriptions/subscription-details.tsx';
import { Amount, PaymentStatus } from './checkout-columns.tsx';
import { ExpireCheckout } from './expire-checkout.tsx';

export function CheckoutPage() {
  const { id = '' } = useRoute().params;
  const opened = useResource(
    (options) => till().checkouts.get(id, {}, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  return (
    <Show resource={opened} heading="Checkout">
      {({ checkout, url }) => (
        <Page
          title={`${words(checkout.mode)} checkout`}
          aside={<Status value={checkout.status} />}
          actions={<Actions of={actions} about={{ checkout }} onActed={opened.reload} />}
        >
          {url !== null && <Link url={url} />}
          <Details checkout={checkout} />
          <Timeline of={{ objectId: id }} />
        </Page>
      )}
    </Show>
  );
}

const actions: readonly Action<{ readonly checkout: Checkout }>[] = [
  {
    label: 'Expire',
    Dialog: ExpireCheckout,
    isPossible: ({ checkout }) => can('write') && checkout.status === 'open',
  },
];

/** Till shows it only while the checkout is open, and to API keys that could create another one. */
function Link({ url }: { readonly url: string }) {
  return (
    <Section title="Link for the buyer">
      <p>
        <OutsideLink href={url}>
          <code>{url}</code>
        </OutsideLink>
      </p>
      <button type="button" class="primary" onClick={() => copyText(url)}>
        Copy link
      </button>
    </Section>
  );
}

/** The fields of a checkout. Those that its mode does not have, and results that it does not have yet, are left out. */
function Details({ checkout }: { readonly checkout: Checkout }) {
  const plans = usePlans().value;
  const { planId, quantity, addOns, trialPeriodDays, paymentMethodId } = checkout;
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Customer', <CustomerById id={checkout.customerId} />],
          ['Plan', linkTo('plan', planId, planOf(plans, planId)?.name ?? planId)],
          ['Quantity', quantity === null ? undefined : String(quantity)],
          ['Add-ons', addOns.length === 0 ? undefined : <AddOns of={addOns} plans={plans} />],
          ['Trial', trialPeriodDays === null ? undefined : plural(trialPeriodDays, 'day')],
          ['Amount', <Amount checkout={checkout} />],
          ['Payment status', <PaymentStatus checkout={checkout} />],
          ['Subscription', linkTo('subscription', checkout.subscriptionId)],
          ['Payment', linkTo('payment', checkout.paymentId)],
          ['Saved card', paymentMethodId === null ? undefined : <Id value={paymentMethodId} />],
          ['Expires', <Time value={checkout.expiresAt} />],
          ['Completed', <Time value={checkout.completedAt} />],
          ['Created', <Time value={checkout.createdAt} />],
          ['Updated', <Time value={checkout.updatedAt} />],
          ['Id', <Id value={checkout.id} />],
          ['At the processor', <Id value={checkout.processorCheckoutSessionId} />],
          ['Metadata', <Metadata of={checkout.metadata} />],
        ]}
      />
    </Section>
  );
}
