import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Id } from '../../parts/values.tsx';
import { ClockSection } from './clock-section.tsx';
import { DeliverySection } from './delivery-section.tsx';
import { FaultsSection } from './faults-section.tsx';
import { type TestCards, useSandbox } from './sandbox-api.ts';

/** The controls of the sandbox, while it is the processor. */
export function SandboxPage() {
  return (
    <Page title="Sandbox">
      <p class="quiet">
        The sandbox is in place of the processor: no real money moves. Use this page to let time pass, and to
        see how your application copes when things go wrong.
      </p>
      <ClockSection />
      <DeliverySection />
      <FaultsSection />
      <TestCardsSection />
    </Page>
  );
}

type TestCard = TestCards['testCards'][number];

const columns: readonly Column<TestCard>[] = [
  { header: 'Number', cell: ({ number }) => <code>{number}</code> },
  { header: 'What it does', cell: ({ description }) => description },
  { header: 'Payment method', cell: ({ paymentMethodId }) => <Id value={paymentMethodId} />, isMinor: true },
];

function TestCardsSection() {
  const cards = useSandbox<TestCards>('/test-cards');
  return (
    <Section title="Test cards">
      <p class="quiet">Any expiry date in the future and any security code work.</p>
      <Show resource={cards}>
        {({ testCards }) => (
          <DataTable
            caption="Test cards"
            columns={columns}
            rows={testCards}
            keyOf={({ paymentMethodId }) => paymentMethodId}
          />
        )}
      </Show>
    </Section>
  );
}
