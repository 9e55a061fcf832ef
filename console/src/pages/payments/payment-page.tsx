import type { Payment, Refund } from '@till/client';
import { useRoute } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { cardText } from '../../format/card.ts';
import { money } from '../../format/money.ts';
import { words } from '../../format/words.ts';
import { type Action, Actions } from '../../parts/actions.tsx';
import { CustomerLink } from '../../parts/customer-link.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EditableMetadata } from '../../parts/editable-metadata.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { PaymentStatus, Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { AtProcessor, Id, linkTo, Money, none, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { CancelPayment } from './cancel-payment.tsx';
import { CapturePayment } from './capture-payment.tsx';
import { ConfirmPayment, canPayHere } from './confirm-payment.tsx';
import { DisputeSection } from './dispute-section.tsx';
import { canRefund, RefundPayment } from './refund-payment.tsx';

export function PaymentPage() {
  const { id = '' } = useRoute().params;
  const payment = useResource(
    (options) => till().payments.get(id, { include: 'customer' }, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  return (
    <Show resource={payment} heading="Payment">
      {(value) => (
        <Page
          title={money(value.amount, value.currency)}
          aside={<PaymentStatus of={value} />}
          actions={<Actions of={actions} about={{ payment: value }} onActed={payment.reload} />}
        >
          {value.dispute !== null && (
            <DisputeSection
              of={value.dispute}
              currency={value.currency}
              paymentId={value.processorPaymentIntentId}
            />
          )}
          <Details payment={value} onSaved={payment.reload} />
          <Refunds payment={value} />
          <Timeline of={{ objectId: id }} />
        </Page>
      )}
    </Show>
  );
}

const cancelable = ['requires_payment_method', 'requires_confirmation', 'requires_action'];

const actions: readonly Action<{ readonly payment: Payment }>[] = [
  {
    label: 'Pay with a test card',
    Dialog: ConfirmPayment,
    isPossible: ({ payment }) => canPayHere(payment),
  },
  {
    label: 'Refund',
    Dialog: RefundPayment,
    isPossible: ({ payment }) => can('refund') && canRefund(payment),
  },
  {
    label: 'Capture',
    Dialog: CapturePayment,
    isPossible: ({ payment }) => can('write') && payment.amountCapturable > 0,
  },
  {
    label: 'Cancel payment',
    Dialog: CancelPayment,
    isPossible: ({ payment: { status, invoiceId } }) =>
      can('write') && cancelable.includes(status) && invoiceId === null,
  },
];

function Details({ payment, onSaved }: { readonly payment: Payment; readonly onSaved: () => void }) {
  const { currency, failure } = payment;
  const amount = (value: number) => <Money amount={value} currency={currency} />;
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Customer', <CustomerLink of={payment} />],
          ['Received', amount(payment.amountReceived)],
          ['Refunded', amount(payment.amountRefunded)],
          ['Capturable', payment.amountCapturable > 0 ? amount(payment.amountCapturable) : undefined],
          [
            'Capture before',
            payment.captureBefore === null ? undefined : <Time value={payment.captureBefore} isExact />,
          ],
          ['Description', payment.description ?? none],
          ['Payment method', cardText(payment.paymentMethod) ?? none],
          [
            'Last failure',
            failure === null
              ? undefined
              : `${failure.message ?? ''} (${failure.declineCode ?? failure.code})`,
          ],
          ['Invoice', linkTo('invoice', payment.invoiceId)],
          ['Checkout', linkTo('checkout', payment.checkoutId)],
          ['Subscription', linkTo('subscription', payment.subscriptionId)],
          ['Created', <Time value={payment.createdAt} />],
          ['Updated', <Time value={payment.updatedAt} />],
          ['Id', <Id value={payment.id} />],
          ['At the processor', <AtProcessor section="payment" id={payment.processorPaymentIntentId} />],
          [
            'Metadata',
            <EditableMetadata
              of={payment.metadata}
              save={(metadata, options) => till().payments.update(payment.id, { metadata }, options)}
              onSaved={onSaved}
            />,
          ],
        ]}
      />
    </Section>
  );
}

const kindTexts: Readonly<Record<Refund['kind'], string>> = {
  refund: 'Refund',
  release: 'Released authorisation',
};

const refundColumns: readonly Column<Refund>[] = [
  { header: 'Kind', cell: ({ kind }) => kindTexts[kind] },
  { header: 'Amount', cell: ({ amount, currency }) => <Money amount={amount} currency={currency} /> },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  { header: 'Reason', cell: ({ reason }) => (reason === null ? none : words(reason)), isMinor: true },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} /> },
  { header: 'Id', cell: ({ id }) => <Id value={id} />, isMinor: true },
];

function Refunds({ payment }: { readonly payment: Payment }) {
  const refunds = useResource(
    (options) => till().payments.refunds(payment.id, { limit: 100 }, options).page(),
    [payment.id],
    // A release has no event of its own.
    ({ objectType, objectId, data }) =>
      objectId === payment.id || (objectType === 'refund' && data.paymentId === payment.id),
  );
  return (
    <Section title="Refunds">
      <Show resource={refunds}>
        {({ data }) => (
          <DataTable
            caption="Refunds"
            empty="No refunds."
            rows={data}
            keyOf={({ id }) => id}
            columns={refundColumns}
          />
        )}
      </Show>
    </Section>
  );
}
