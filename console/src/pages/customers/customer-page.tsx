import { type Customer, type Entitlements, isTillError } from '@till/client';
import { useRoute } from 'preact-iso';
import { usePlans } from '../../api/use-plans.ts';
import { useResource } from '../../api/use-resource.ts';
import { listOf } from '../../links.ts';
import { type Action, Actions } from '../../parts/actions.tsx';
import { customerName } from '../../parts/customer-link.tsx';
import { EditableMetadata } from '../../parts/editable-metadata.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { RelatedList } from '../../parts/related-list.tsx';
import { Show } from '../../parts/states.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { AtProcessor, Id, none, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { checkoutColumns } from '../checkouts/checkout-columns.tsx';
import { CreateCheckout } from '../checkouts/create-checkout.tsx';
import { invoiceColumns } from '../invoices/invoice-columns.tsx';
import { paymentColumns } from '../payments/payments-page.tsx';
import { CreateSubscription } from '../subscriptions/create-subscription.tsx';
import { subscriptionColumns } from '../subscriptions/subscription-columns.tsx';
import { Cards } from './cards.tsx';
import { DeleteCustomer } from './delete-customer.tsx';
import { EditCustomer } from './edit-customer.tsx';
import { EntitledStatus, EntitlementSection } from './entitlement-section.tsx';
import { UsageSection } from './usage-section.tsx';

export function CustomerPage() {
  const { id = '' } = useRoute().params;
  // Another customer is another page: no state of this one may stay, such as an open dialog.
  return <OneCustomer key={id} id={id} />;
}

function OneCustomer({ id }: { readonly id: string }) {
  const customer = useResource(
    (options) => till().customers.get(id, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  const entitlements = useResource(
    (options) => till().customers.entitlements(id, options),
    [id],
    ({ objectType, customerId }) =>
      objectType === 'plan' || (objectType === 'subscription' && customerId === id),
  );
  // What was loaded before the deletion must not stay on the screen.
  if (isTillError(customer.failure?.error, 'not_found')) return <NoCustomer id={id} />;
  return (
    <Show resource={customer} heading="Customer">
      {(value) => (
        <Page
          title={customerName(value)}
          aside={
            entitlements.value !== undefined && <EntitledStatus entitled={entitlements.value.entitled} />
          }
          actions={
            <Actions
              of={actions}
              about={{
                ...{ customer: value, customerId: id, name: customerName(value) },
                entitlements: entitlements.value,
              }}
              onActed={customer.reload}
            />
          }
        >
          <Identity customer={value} onSaved={customer.reload} />
          <EntitlementSection entitlements={entitlements} />
          <UsageSection customerId={id} entitlements={entitlements} />
          <Lists customerId={id} />
          <Cards customerId={id} />
          <Timeline of={{ customerId: id }} />
        </Page>
      )}
    </Show>
  );
}

interface About {
  readonly customer: Customer;
  readonly customerId: string;
  readonly name: string;
  readonly entitlements: Entitlements | undefined;
}

const isPossible = () => can('write');
const actions: readonly Action<About>[] = [
  { label: 'Create checkout', Dialog: CreateCheckout, isPossible },
  { label: 'Create subscription', Dialog: CreateSubscription, isPossible },
  { label: 'Edit', Dialog: EditCustomer, isPossible },
  { label: 'Delete', Dialog: DeleteCustomer, isPossible },
];

function Identity({ customer, onSaved }: { readonly customer: Customer; readonly onSaved: () => void }) {
  const { email, name, phone, externalId } = customer;
  return (
    <Section title="Identity">
      <Fields
        of={[
          ['E-mail', email === '' ? none : email],
          ['Name', name ?? none],
          ['Phone', phone ?? none],
          ['External id', <Id value={externalId} />],
          ['Created', <Time value={customer.createdAt} />],
          ['Updated', <Time value={customer.updatedAt} />],
          ['Id', <Id value={customer.id} />],
          ['At the processor', <AtProcessor section="customer" id={customer.processorCustomerId} />],
          [
            'Metadata',
            <EditableMetadata
              of={customer.metadata}
              save={(metadata, options) => till().customers.update(customer.id, { metadata }, options)}
              onSaved={onSaved}
            />,
          ],
        ]}
      />
    </Section>
  );
}

/** The newest objects of the customer. */
function Lists({ customerId }: { readonly customerId: string }) {
  const plans = usePlans();
  const shared = (objectType: 'payment' | 'subscription' | 'invoice' | 'checkout') => ({
    keyOf: ({ id }: { readonly id: string }) => id,
    reloadOn: (event: { readonly objectType: string; readonly customerId: string | null }) =>
      event.objectType === objectType && event.customerId === customerId,
  });
  const ofCustomer = { customerId };
  const allPayments = { customerId, source: 'all' } as const;
  return (
    <>
      <RelatedList
        title="Subscriptions"
        list={(limit, options) => till().subscriptions.list({ ...ofCustomer, limit }, options)}
        all={listOf('subscription', ofCustomer)}
        empty="No subscriptions."
        columns={subscriptionColumns(plans.value)}
        {...shared('subscription')}
      />
      <RelatedList
        title="Payments"
        list={(limit, options) => till().payments.list({ ...allPayments, limit }, options)}
        all={listOf('payment', allPayments)}
        empty="No payments."
        columns={paymentColumns}
        {...shared('payment')}
      />
      <RelatedList
        title="Invoices"
        list={(limit, options) => till().invoices.list({ ...ofCustomer, limit }, options)}
        all={listOf('invoice', ofCustomer)}
        empty="No invoices."
        columns={invoiceColumns}
        {...shared('invoice')}
      />
      <RelatedList
        title="Checkouts"
        list={(limit, options) => till().checkouts.list({ ...ofCustomer, limit }, options)}
        all={listOf('checkout', ofCustomer)}
        empty="No checkouts."
        columns={checkoutColumns}
        {...shared('checkout')}
      />
    </>
  );
}

/** The API shows a deleted customer as one that does not exist. The timeline tells the two apart. */
function NoCustomer({ id }: { readonly id: string }) {
  return (
    <Page title="No such customer">
      <div class="lead">
        <p>
          No customer has the id <code>{id}</code>, or it was deleted. Till erases the e-mail, name, phone,
          external id and metadata of a deleted customer.
        </p>
        <p>
          <a href={listOf('payment', { customerId: id, source: 'all' })}>Payments</a> and{' '}
          <a href={listOf('invoice', { customerId: id })}>invoices</a> of a deleted customer can still be
          read. Or go to the <a href={listOf('customer')}>list of customers</a>.
        </p>
      </div>
      <Timeline of={{ customerId: id }} />
    </Page>
  );
}
