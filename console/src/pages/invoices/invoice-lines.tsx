import type { Invoice, InvoiceLine } from '@till/client';
import { useResource } from '../../api/use-resource.ts';
import { pageOf } from '../../links.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Money, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

/** The most that the API returns at once. Few invoices have more. */
const linesMax = 100;

const columns: readonly Column<InvoiceLine>[] = [
  {
    header: 'Description',
    cell: ({ description, planId, proration }) => (
      <>
        {planId === null ? (
          (description ?? 'Without a description')
        ) : (
          <a href={pageOf('plan', planId)}>{description ?? 'Plan'}</a>
        )}
        {proration && <span class="quiet"> (part of a period)</span>}
      </>
    ),
  },
  { header: 'Quantity', isNumber: true, isMinor: true, cell: ({ quantity }) => quantity ?? none },
  {
    header: 'Period',
    isMinor: true,
    cell: ({ periodStart, periodEnd }) =>
      periodStart === periodEnd ? (
        <Time value={periodStart} dayOnly />
      ) : (
        <>
          <Time value={periodStart} dayOnly /> – <Time value={periodEnd} dayOnly />
        </>
      ),
  },
  {
    header: 'Amount',
    isNumber: true,
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
];

/** What the invoice bills. The processor has the lines, so a change of the invoice reads them again. */
export function InvoiceLines({ invoice: { id, updatedAt } }: { readonly invoice: Invoice }) {
  const lines = useResource(
    (options) => till().invoices.lines(id, { limit: linesMax }, options).page(),
    [id, updatedAt],
  );
  return (
    <Section title="Lines">
      <Show resource={lines}>
        {({ data, nextCursor }) => {
          if (data.length === 0) return <Empty>No lines.</Empty>;
          return (
            <>
              <DataTable
                caption="Lines"
                rows={data}
                keyOf={(line) => String(data.indexOf(line))}
                columns={columns}
              />
              {nextCursor !== null && <p class="quiet">These are the first {linesMax} lines.</p>}
            </>
          );
        }}
      </Show>
    </Section>
  );
}
