import type { Attention } from '../../../../client/src/index.ts';
import { useResource } from '../../api/use-resource.ts';
import { fieldLabel, words } from '../../format/words.ts';
import { listOf, pageOf } from '../../links.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Money, none, ShortId, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { needsResponse } from '../payments/dispute-filter.ts';
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

/** The number of all, and where they are listed, if not all are shown. */
function All({
  of: { total, data },
  href,
}: {
  readonly of: { total: number; data: readonly object[] };
  readonly href: string;
}) {
  if (total <= data.length) return null;
  // The API counts no further.
  const number = new Intl.NumberFormat().format(total);
  return <a href={href}>{total === 10_000 ? `All, at least ${number}` : `All ${number}`}</a>;
}

function Disputes({ of }: { readonly of: Attention['disputes'] }) {
  return (
    <Section
      title="Disputes to respond to"
      aside={<All of={of} href={listOf('payment', { disputeStatus: needsResponse })} />}
    >
      {of.data.length === 0 ? (
        <Empty>No dispute needs a response.</Empty>
      ) : (
        <DataTable
          caption="Disputes to respond to"
          rows={of.data}
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
      )}
    </Section>
  );
}

function PastDue({ of }: { readonly of: Attention['pastDue'] }) {
  return (
    <Section
      title="Past-due subscriptions"
      aside={<All of={of} href={listOf('subscription', { status: 'past_due' })} />}
    >
      {of.data.length === 0 ? (
        <Empty>No subscription is past due.</Empty>
      ) : (
        <DataTable
          caption="Past-due subscriptions"
          rows={of.data}
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
      )}
    </Section>
  );
}

function Endpoints({ of }: { readonly of: NonNullable<Attention['endpoints']> }) {
  return (
    <Section title="Failing event endpoints" aside={<All of={of} href={listOf('eventEndpoint')} />}>
      {of.data.length === 0 ? (
        <Empty>Every event endpoint takes its events.</Empty>
      ) : (
        <DataTable
          caption="Failing event endpoints"
          rows={of.data}
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
      )}
    </Section>
  );
}

function WebhookEvents({ of }: { readonly of: NonNullable<Attention['webhookEvents']> }) {
  return (
    <Section
      title="Failed webhook events"
      aside={<All of={of} href={listOf('webhookEvent', { state: 'failed' })} />}
    >
      {of.data.length === 0 ? (
        <Empty>Every webhook event was processed, or is retried.</Empty>
      ) : (
        <DataTable
          caption="Failed webhook events"
          rows={of.data}
          keyOf={({ id }) => id}
          columns={[
            { header: 'Type', cell: ({ id, type }) => <a href={pageOf('webhookEvent', id)}>{type}</a> },
            { header: 'Last error', cell: ({ lastError }) => lastError ?? none },
            { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
          ]}
        />
      )}
    </Section>
  );
}

/** What an interrupted request is about, or else the id that its object would have. */
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
    <Section title="Interrupted requests">
      {of.data.length === 0 ? (
        <Empty>Every request is settled.</Empty>
      ) : (
        <DataTable
          caption="Interrupted requests"
          rows={of.data}
          keyOf={({ objectId }) => objectId}
          columns={[
            { header: 'Operation', cell: ({ operation }) => <code>{operation}</code> },
            { header: 'About', cell: (claim) => <Subject of={claim} /> },
            { header: 'API key', cell: ({ keyName }) => (keyName === '' ? none : keyName), isMinor: true },
            { header: 'Since', cell: ({ createdAt }) => <Time value={createdAt} /> },
          ]}
        />
      )}
    </Section>
  );
}
