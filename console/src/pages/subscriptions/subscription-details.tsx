import type { Subscription } from '@till/client';
import { planOf } from '../../api/use-plans.ts';
import { cardOf, cardText } from '../../format/card.ts';
import { priceOf } from '../../format/interval.ts';
import { pageOf } from '../../links.ts';
import { CustomerLink } from '../../parts/customer-link.tsx';
import { EditableMetadata } from '../../parts/editable-metadata.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Section } from '../../parts/page.tsx';
import { AtProcessor, Id, linkTo, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import type { Around } from './around.ts';
import { discountText, entitlementText, termsText, unitsText } from './terms.ts';

/** The fields of a subscription. Times that do not apply are left out. */
export function SubscriptionDetails({
  subscription,
  plans,
  cards,
  entitlement,
  onSaved,
}: Around & { readonly onSaved: () => void }) {
  const { currentPeriodStart, currentPeriodEnd, discount } = subscription;
  const plan = planOf(plans, subscription.planId);
  const time = (value: string | null) => (value === null ? undefined : <Time value={value} />);
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Customer', <CustomerLink of={subscription} />],
          ['Plan', <a href={pageOf('plan', subscription.planId)}>{plan?.name ?? subscription.planId}</a>],
          ['Price', plan === undefined ? none : priceOf(plan, subscription.quantity)],
          ['Quantity', String(subscription.quantity)],
          [
            'Add-ons',
            subscription.addOns.length === 0 ? undefined : <AddOns of={subscription.addOns} plans={plans} />,
          ],
          [
            'Other items',
            subscription.otherItems.length === 0 ? undefined : <OtherItems of={subscription.otherItems} />,
          ],
          [
            'Entitled',
            entitlement === undefined ? (subscription.entitled ? 'Yes' : 'No') : entitlementText(entitlement),
          ],
          [
            'Current period',
            currentPeriodStart === null || currentPeriodEnd === null ? undefined : (
              <>
                <Time value={currentPeriodStart} isExact /> – <Time value={currentPeriodEnd} isExact />
              </>
            ),
          ],
          ['Trial ends', time(subscription.trialEnd)],
          ['Ends', subscription.endedAt === null ? time(subscription.cancelAt) : undefined],
          ['Cancellation requested', time(subscription.canceledAt)],
          ['Reason', subscription.cancellationReason ?? undefined],
          ['Ended', time(subscription.endedAt)],
          ['Discount', discount === null ? undefined : discountText(discount)],
          [
            'Pending change',
            subscription.pendingChange === null ? undefined : (
              <PendingChange change={subscription.pendingChange} plans={plans} />
            ),
          ],
          ['Charged to', <Card subscription={subscription} cards={cards} />],
          ['Latest invoice', linkTo('invoice', subscription.latestInvoiceId) ?? none],
          ['Created', <Time value={subscription.createdAt} />],
          ['Updated', <Time value={subscription.updatedAt} />],
          ['Id', <Id value={subscription.id} />],
          [
            'At the processor',
            <AtProcessor section="subscription" id={subscription.processorSubscriptionId} />,
          ],
          [
            'Metadata',
            <EditableMetadata
              of={subscription.metadata}
              save={(metadata, options) =>
                till().subscriptions.update(subscription.id, { metadata }, options)
              }
              onSaved={onSaved}
            />,
          ],
        ]}
      />
    </Section>
  );
}

export function AddOns({
  of,
  plans,
}: {
  readonly of: Subscription['addOns'];
  readonly plans: Around['plans'] | undefined;
}) {
  return (
    <ul class="plain">
      {of.map(({ planId, quantity }) => {
        const plan = planOf(plans, planId);
        return (
          <li key={planId}>
            <a href={pageOf('plan', planId)}>{unitsText(plan, quantity)}</a>
            {plan !== undefined && `, ${priceOf(plan, quantity)}`}
          </li>
        );
      })}
    </ul>
  );
}

/** What the processor bills in the subscription that is not a plan. */
function OtherItems({ of }: { readonly of: Subscription['otherItems'] }) {
  return (
    <ul class="plain">
      {of.map(({ processorPriceId, quantity, description }) => (
        <li key={processorPriceId}>
          {quantity !== null && quantity !== 1 && `${quantity} × `}
          {description ?? processorPriceId}
          {quantity === null && ', by use'}
        </li>
      ))}
    </ul>
  );
}

function PendingChange({
  change,
  plans,
}: {
  readonly change: NonNullable<Subscription['pendingChange']>;
  readonly plans: Around['plans'];
}) {
  return (
    <>
      {termsText(plans, change)},{' '}
      {change.at === null ? (
        'once the customer has authenticated'
      ) : (
        <>
          on <Time value={change.at} isExact />
        </>
      )}
    </>
  );
}

function Card({ subscription, cards }: Pick<Around, 'subscription' | 'cards'>) {
  const { defaultPaymentMethodId } = subscription;
  const card = cardText(cardOf(cards, subscription) ?? null);
  if (card === null) return <Id value={defaultPaymentMethodId} />;
  return <span>{defaultPaymentMethodId === null ? `${card} (the customer's default)` : card}</span>;
}
