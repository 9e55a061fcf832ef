import type { Attention } from '@till/client';
import { useResource } from '../../api/use-resource.ts';
import { fieldLabel, words } from '../../format/words.ts';
import { listOf, pageOf } from '../../links.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Money, none, ShortId, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { needsResponse } from '../payments/payments-page.tsx';
import { isEmpty, subjectOf, urgentTypes } from './attention.ts';

type Customer = Attention['disputes']['data'][number]['customer'];

/** What people should look at now, the most urgent first. */
export function AttentionPage() {
  const attention = useResource(
    (options) => till().attention(options),
    [],
    ({ objectType }) => urgentTypes.includes(objectType),
  );
  return (
    <Page title="Needs attention">
      <Show resource={attention}>
        {(value) => (
          <>
            {isEmpty(value) && <Empty>All is well: nothing needs attention.</Empty>}
            <Disputes of={value.disputes} />
            <PastDue of={value.pastDue} />
            {value.endpoints !== null && <Endpoints of={value.endpoints} />}
            {value.webhookEvents !== null && <WebhookEvents of={value.webhookEvents} />}
            {value.claims !== null && <Claims of={value.claims} />}
          </>
        )}
      </Show>
    </Page>
  );
}

function Who({ of }: { readonly of: Customer }) {
  if (of === null) return <span class="quiet">Deleted customer</span>;
  return <a href={pageOf('customer', of.id)}>{of.name ?? of.email ?? of.id}</a>;
}

interface UrgentProps<Row> {
  readonly title: string;
  readonly of: { readonly total: number; readonly data: readonly Row[] };
  /** Where all of them are listed. Undefined if no page does. */
  readonly all?: string;
  readonly empty: string;
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
}

/** Items of one kind that need attention, with their number if not all are shown. */
function Urgent<Row>({ title, of: { total, data }, all, ...table }: UrgentProps<Row>) {
  // The API stops counting here.
  const number = `${total === 10_000 ? ', at least' : ''} ${new Intl.NumberFormat().format(total)}`;
  return (
    <Section title={title} aside={total > data.length && all !== undefined && <a href={all}>All{number}</a>}>
      <DataTable caption={title} rows={data} {...table} />
    </Section>
  );
}

function Disputes({ of }: { readonly of: Attention['disputes'] }) {
  return (
    <Urgent
      title="Disputes to respond to"
      of={of}
      all={listOf('payment', { disputeStatus: needsResponse })}
      empty="No dispute needs a response."
      keyOf={({ paymentId }) => paymentId}
      columns={[
        {
          header: 'Amount',
          cell: ({ paymentId, amount, currency }) => (
            <a href={pageOf('payment', paymentId)}>
              <Money amount={amount} currency={currency} />
            </a>
          ),
        },
        { header: 'Customer', cell: ({ customer }) => <Who of={customer} /> },
        {
          header: 'Reason',
          cell: ({ reason }) => (reason === null ? none : words(reason)),
          isMinor: true,
        },
        { header: 'Evidence due', cell: ({ evidenceDueBy }) => <Time value={evidenceDueBy} /> },
      ]}
    />
  );
}

function PastDue({ of }: { readonly of: Attention['pastDue'] }) {
  return (
    <Urgent
      title="Past-due subscriptions"
      of={of}
      all={listOf('subscription', { status: 'past_due' })}
      empty="No subscription is past due."
      keyOf={({ subscriptionId }) => subscriptionId}
      columns={[
        {
          header: 'Plan',
          cell: ({ subscriptionId, planName }) => (
            <a href={pageOf('subscription', subscriptionId)}>{planName}</a>
          ),
        },
        { header: 'Customer', cell: ({ customer }) => <Who of={customer} /> },
        {
          header: 'Due',
          isNumber: true,
          cell: ({ amountDue, currency }) => <Money amount={amountDue} currency={currency} />,
        },
        {
          header: 'Next attempt',
          cell: ({ nextPaymentAttemptAt }) => <Time value={nextPaymentAttemptAt} />,
          isMinor: true,
        },
      ]}
    />
  );
}

function Endpoints({ of }: { readonly of: NonNullable<Attention['endpoints']> }) {
  return (
    <Urgent
      title="Failing event endpoints"
      of={of}
      all={listOf('eventEndpoint')}
      empty="Every event endpoint takes its events."
      keyOf={({ id }) => id}
      columns={[
        { header: 'URL', cell: ({ id, url }) => <a href={pageOf('eventEndpoint', id)}>{url}</a> },
        { header: 'State', cell: ({ enabled }) => (enabled ? 'Failing' : 'Turned off by Till') },
        {
          header: 'Since',
          cell: ({ failingSince, disabledAt }) => <Time value={failingSince ?? disabledAt} />,
        },
      ]}
    />
  );
}

function WebhookEvents({ of }: { readonly of: NonNullable<Attention['webhookEvents']> }) {
  return (
    <Urgent
      title="Failed webhook events"
      of={of}
      all={listOf('webhookEvent', { state: 'failed' })}
      empty="Every webhook event was processed, or is retried."
      keyOf={({ id }) => id}
      columns={[
        { header: 'Type', cell: ({ id, type }) => <a href={pageOf('webhookEvent', id)}>{type}</a> },
        { header: 'Last error', cell: ({ lastError }) => lastError ?? none },
        { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
      ]}
    />
  );
}

/** The object of an interrupted request, or else the id that the new object would have. */
function Subject({ of }: { readonly of: NonNullable<Attention['claims']>['data'][number] }) {
  const subject = subjectOf(of);
  if (subject === undefined) return <ShortId value={of.objectId} />;
  const { type, id } = subject;
  return (
    <a href={pageOf(type, id)}>
      {fieldLabel(type)} <ShortId value={id} />
    </a>
  );
}

function Claims({ of }: { readonly of: NonNullable<Attention['claims']> }) {
  return (
    <Urgent
      title="Interrupted requests"
      of={of}
      empty="Every request is settled."
      keyOf={({ objectId }) => objectId}
      columns={[
        { header: 'Operation', cell: ({ operation }) => <code>{operation}</code> },
        { header: 'About', cell: (claim) => <Subject of={claim} /> },
        { header: 'API key', cell: ({ keyName }) => (keyName === '' ? none : keyName), isMinor: true },
        { header: 'Since', cell: ({ createdAt }) => <Time value={createdAt} /> },
      ]}
    />
  );
}
