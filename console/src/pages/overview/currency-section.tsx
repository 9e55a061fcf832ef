import type { Overview } from '../../../../client/src/index.ts';
import { money } from '../../format/money.ts';
import { plural } from '../../format/words.ts';
import { listOf } from '../../links.ts';
import { Chart } from '../../parts/chart.tsx';
import { Section } from '../../parts/page.tsx';
import { Tile } from '../../parts/tile.tsx';
import { createdIn, type DayRange } from './range.ts';

type CurrencyNumbers = Overview['currencies'][number];

interface CurrencyProps {
  readonly of: CurrencyNumbers;
  readonly range: DayRange;
  /** The first day for which the numbers of subscriptions are known. */
  readonly since: string;
}

/** The numbers of one currency: amounts of different currencies are never added. */
export function CurrencySection({ of, range, since }: CurrencyProps) {
  const { currency, days } = of;
  const text = (amount: number) => money(amount, currency);
  return (
    <Section title={currency.toUpperCase()}>
      <Chart
        title="Volume per day"
        kind="bars"
        points={days.map(({ date, volume }) => ({ label: date, value: volume, text: text(volume) }))}
      />
      <Totals of={of} range={range} />
      <Chart
        title="Monthly recurring revenue"
        kind="line"
        note={since > range.from ? `Known since ${since}.` : undefined}
        points={days.map(({ date, subscriptions }) => {
          const total = subscriptions?.monthlyRecurringRevenue.total ?? null;
          return { label: date, value: total, text: total === null ? 'not known' : text(total) };
        })}
      />
    </Section>
  );
}

function Totals({ of: { currency, totals, subscriptions }, range }: Omit<CurrencyProps, 'since'>) {
  const text = (amount: number) => money(amount, currency);
  const payments = (filters: Readonly<Record<string, string>> = {}) =>
    listOf('payment', { source: 'all', currency, ...createdIn(range), ...filters });
  const { failedPayments, refunds, disputedPayments } = totals;
  const { total, pastDue } = subscriptions.monthlyRecurringRevenue;
  return (
    <dl class="tiles">
      <Tile
        label="Volume"
        value={text(totals.volume)}
        definition={`Received by ${plural(totals.payments, 'payment')} created in these days, before refunds.`}
        href={payments()}
      />
      <Tile
        label="Monthly recurring revenue"
        value={text(total)}
        definition={`What active and past-due subscriptions charge in a month now, before discounts and taxes. ${text(pastDue)} of it is at risk.`}
        href={listOf('subscription', { currency })}
      />
      <Tile
        label="Succeeded payments"
        value={totals.succeededPayments}
        definition="Created in these days, and paid and not fully refunded now."
        href={payments({ status: 'succeeded' })}
      />
      <Tile
        label="Failed payments"
        value={failedPayments.count}
        definition={`The last attempt failed, and none succeeded since: ${text(failedPayments.amount)}.`}
        href={payments({ failed: 'true' })}
      />
      <Tile
        label="Refunds"
        value={text(refunds.amount)}
        definition={`${plural(refunds.count, 'refund')} created in these days, of payments of any age.`}
        href={listOf('refund', { status: 'succeeded', currency, ...createdIn(range) })}
      />
      <Tile
        label="Disputes"
        value={disputedPayments.count}
        definition={`Payments created in these days that were disputed: ${text(disputedPayments.amount)}.`}
        href={payments({ disputed: 'true' })}
        isAlarming={disputedPayments.count > 0}
      />
    </dl>
  );
}
