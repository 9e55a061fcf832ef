import { useRoute } from 'preact-iso';
import type { Invoice } from '../../../../client/src/index.ts';
import { useResource } from '../../api/use-resource.ts';
import { listOf, pageOf } from '../../links.ts';
import { CustomerLink } from '../../parts/customer-link.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { AtProcessor, Id, Money, none, OutsideLink, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { paymentColumns } from '../payments/payments-page.tsx';
import { InvoiceLines } from './invoice-lines.tsx';

/** The most that the API returns at once. */
const paymentsMax = 100;

export function InvoicePage() {
  const { id = '' } = useRoute().params;
  const invoice = useResource(
    (options) => till().invoices.get(id, { include: 'customer' }, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  return (
    <Show resource={invoice} heading="Invoice">
      {(value) => (
        <Page
          title={value.number === null ? 'Invoice without a number' : `Invoice ${value.number}`}
          aside={<Status value={value.status} />}
        >
          <Details invoice={value} />
          <InvoiceLines invoice={value} />
          {value.subscriptionId !== null && (
            <Payments invoiceId={value.id} subscriptionId={value.subscriptionId} />
          )}
          <Timeline of={{ objectId: id }} />
        </Page>
      )}
    </Show>
  );
}

function Details({ invoice }: { readonly invoice: Invoice }) {
  const { currency, subscriptionId, hostedInvoiceUrl, invoicePdfUrl } = invoice;
  const amount = (value: number) => <Money amount={value} currency={currency} />;
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Amount due', amount(invoice.amountDue)],
          ['Paid', amount(invoice.amountPaid)],
          ['Remaining', amount(invoice.amountRemaining)],
          ['Customer', <CustomerLink of={invoice} />],
          [
            'Subscription',
            subscriptionId === null ? (
              none
            ) : (
              <a href={pageOf('subscription', subscriptionId)}>{subscriptionId}</a>
            ),
          ],
          ['Period', <Period start={invoice.periodStart} end={invoice.periodEnd} />],
          ['Attempts to collect', String(invoice.attemptCount)],
          [
            'Next attempt',
            invoice.nextPaymentAttemptAt === null ? undefined : <Time value={invoice.nextPaymentAttemptAt} />,
          ],
          [
            'For the customer',
            hostedInvoiceUrl === null && invoicePdfUrl === null ? undefined : (
              <span class="links">
                <OutsideLink href={hostedInvoiceUrl}>Hosted page</OutsideLink>
                <OutsideLink href={invoicePdfUrl}>PDF</OutsideLink>
              </span>
            ),
          ],
          ['Created', <Time value={invoice.createdAt} />],
          ['Updated', <Time value={invoice.updatedAt} />],
          ['Id', <Id value={invoice.id} />],
          ['At the processor', <AtProcessor section="invoice" id={invoice.processorInvoiceId} />],
        ]}
      />
    </Section>
  );
}

function Period({ start, end }: { readonly start: string | null; readonly end: string | null }) {
  if (start === null || end === null) return none;
  return (
    <>
      <Time value={start} dayOnly /> – <Time value={end} dayOnly />
    </>
  );
}

/** The API lists payments by subscription. An invoice's are among the newest of these. */
function Payments({
  invoiceId,
  subscriptionId,
}: {
  readonly invoiceId: string;
  readonly subscriptionId: string;
}) {
  const payments = useResource(
    (options) => till().payments.list({ subscriptionId, limit: paymentsMax }, options).page(),
    [subscriptionId],
    ({ objectType, data }) => objectType === 'payment' && data.subscriptionId === subscriptionId,
  );
  const all = <a href={listOf('payment', { subscriptionId })}>All payments of the subscription</a>;
  return (
    <Section title="Payments" aside={all}>
      <Show resource={payments}>
        {({ data, nextCursor }) => {
          const own = data.filter((payment) => payment.invoiceId === invoiceId);
          if (own.length > 0)
            return (
              <DataTable caption="Payments" rows={own} keyOf={({ id }) => id} columns={paymentColumns} />
            );
          return (
            <Empty>
              {nextCursor === null
                ? 'No payments.'
                : `None of the newest ${paymentsMax} payments of the subscription is for this invoice.`}
            </Empty>
          );
        }}
      </Show>
    </Section>
  );
}
