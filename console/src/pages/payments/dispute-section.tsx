import type { Payment } from '@till/client';
import { dashboardLink } from '../../dashboard.ts';
import { words } from '../../format/words.ts';
import { Fields } from '../../parts/fields.tsx';
import { Section } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, none, OutsideLink, Time } from '../../parts/values.tsx';

/** The newest dispute of a payment. Only the processor's dashboard takes evidence. */
export function DisputeSection({
  of: { status, reason, amount, evidenceDueBy },
  currency,
  paymentId,
}: {
  readonly of: NonNullable<Payment['dispute']>;
  readonly currency: string;
  /** The processor's. */
  readonly paymentId: string;
}) {
  const link = dashboardLink('payment', paymentId);
  return (
    <Section title="Dispute">
      <Fields
        of={[
          ['Status', <Status value={status} />],
          ['Evidence due', evidenceDueBy === null ? undefined : <Time value={evidenceDueBy} isExact />],
          ['Amount', amount === null ? none : <Money amount={amount} currency={currency} />],
          ['Reason', reason === null ? none : words(reason)],
          ['Respond', link === null ? undefined : <OutsideLink href={link}>In the dashboard</OutsideLink>],
        ]}
      />
    </Section>
  );
}
