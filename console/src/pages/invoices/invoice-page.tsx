import type { Invoice } from '@till/client';
import { useRoute } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { listOf } from '../../links.ts';
import { CustomerLink } from '../../parts/customer-link.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { RelatedList } from '../../parts/related-list.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { AtProcessor, Id, linkTo, Money, none, OutsideLink, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { paymentColumns } from '../payments/payments-page.tsx';
import { InvoiceLines } from './invoice-lines.tsx';

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
  const { currency, hostedInvoiceUrl, invoicePdfUrl } = invoice;
  const amount = (value: number) => <Money amount={value} currency={currency} />;
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Amount due', amount(invoice.amountDue)],
          ['Paid', amount(invoice.amountPaid)],
          ['Remaining', amount(invoice.amountRemaining)],
          ['Customer', <CustomerLink of={invoice} />],
          ['Subscription', linkTo('subscription', invoice.subscriptionId) ?? none],
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

function Payments({
  invoiceId,
  subscriptionId,
}: {
  readonly invoiceId: string;
  readonly subscriptionId: string;
}) {
  return (
    <RelatedList
      title="Payments"
      empty="No payments."
      list={(limit, options) => till().payments.list({ invoiceId, limit }, options)}
      all={listOf('payment', { invoiceId })}
      columns={paymentColumns}
      keyOf={({ id }) => id}
      reloadOn={({ objectType, data }) => objectType === 'payment' && data.subscriptionId === subscriptionId}
    />
  );
}
