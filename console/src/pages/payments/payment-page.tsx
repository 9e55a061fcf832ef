import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import type { Payment } from '../../../../client/src/index.ts';
import { useResource } from '../../api/use-resource.ts';
import { dashboardLink } from '../../dashboard.ts';
import { money } from '../../format/money.ts';
import { words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { CustomerLink } from '../../parts/customer-link.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { EditableMetadata } from '../../parts/editable-metadata.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { PaymentStatus, Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { Id, Money, none, OutsideLink, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { CancelPayment } from './cancel-payment.tsx';
import { CapturePayment } from './capture-payment.tsx';
import { cardText } from './card-text.ts';
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
          actions={<Actions payment={value} onActed={payment.reload} />}
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

function Actions({ payment, onActed }: { readonly payment: Payment; readonly onActed: () => void }) {
  const [open, setOpen] = useState<'pay' | 'refund' | 'capture' | 'cancel' | undefined>(undefined);
  const close = (hasActed: boolean) => {
    setOpen(undefined);
    if (hasActed) onActed();
  };
  return (
    <>
      {canPayHere(payment) && (
        <button type="button" onClick={() => setOpen('pay')}>
          Pay with a test card
        </button>
      )}
      {can('refund') && canRefund(payment) && (
        <button type="button" onClick={() => setOpen('refund')}>
          Refund
        </button>
      )}
      {can('write') && payment.amountCapturable > 0 && (
        <button type="button" onClick={() => setOpen('capture')}>
          Capture
        </button>
      )}
      {can('write') && cancelable.includes(payment.status) && payment.invoiceId === null && (
        <button type="button" onClick={() => setOpen('cancel')}>
          Cancel payment
        </button>
      )}
      {open === 'pay' && <ConfirmPayment payment={payment} onClose={close} />}
      {open === 'refund' && <RefundPayment payment={payment} onClose={close} />}
      {open === 'capture' && <CapturePayment payment={payment} onClose={close} />}
      {open === 'cancel' && <CancelPayment payment={payment} onClose={close} />}
    </>
  );
}

function Details({ payment, onSaved }: { readonly payment: Payment; readonly onSaved: () => void }) {
  const { currency, failure, invoiceId, subscriptionId, checkoutId } = payment;
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
          [
            'Invoice',
            invoiceId === null ? undefined : <a href={pageOf('invoice', invoiceId)}>{invoiceId}</a>,
          ],
          [
            'Checkout',
            checkoutId === null ? undefined : <a href={pageOf('checkout', checkoutId)}>{checkoutId}</a>,
          ],
          [
            'Subscription',
            subscriptionId === null ? undefined : (
              <a href={pageOf('subscription', subscriptionId)}>{subscriptionId}</a>
            ),
          ],
          ['Created', <Time value={payment.createdAt} />],
          ['Updated', <Time value={payment.updatedAt} />],
          ['Id', <Id value={payment.id} />],
          [
            'At the processor',
            <>
              <Id value={payment.processorPaymentIntentId} />{' '}
              <OutsideLink href={dashboardLink('payment', payment.processorPaymentIntentId)}>
                Dashboard
              </OutsideLink>
            </>,
          ],
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

function Refunds({ payment }: { readonly payment: Payment }) {
  const refunds = useResource(
    (options) => till().payments.refunds(payment.id, { limit: 100 }, options).page(),
    [payment.id],
    ({ objectType, data }) => objectType === 'refund' && data.paymentId === payment.id,
  );
  return (
    <Section title="Refunds">
      <Show resource={refunds}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No refunds.</Empty>
          ) : (
            <DataTable
              caption="Refunds"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  header: 'Amount',
                  cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
                },
                { header: 'Status', cell: ({ status }) => <Status value={status} /> },
                {
                  header: 'Reason',
                  cell: ({ reason }) => (reason === null ? none : words(reason)),
                  isMinor: true,
                },
                { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} /> },
                { header: 'Id', cell: ({ id }) => <Id value={id} />, isMinor: true },
              ]}
            />
          )
        }
      </Show>
    </Section>
  );
}
