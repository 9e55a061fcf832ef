import type { Overview } from '@till/client';
import { comparison } from '../../format/comparison.ts';
import { money } from '../../format/money.ts';
import { plural } from '../../format/words.ts';
import { listOf } from '../../links.ts';
import { Chart } from '../../parts/chart.tsx';
import { Section } from '../../parts/page.tsx';
import { Tile } from '../../parts/tile.tsx';
import { type CurrencyNumbers, Growth } from './growth.tsx';
import { createdIn } from './range.ts';

interface CurrencyProps {
  readonly of: CurrencyNumbers;
  readonly overview: Overview;
}

/** The numbers of one currency: amounts of different currencies are never added. */
export function CurrencySection({ of, overview }: CurrencyProps) {
  const { currency, days } = of;
  const text = (amount: number) => money(amount, currency);
  return (
    <Section title={currency.toUpperCase()}>
      <Growth of={of} overview={overview} />
      <Totals of={of} overview={overview} />
      <Chart
        title="Volume per day"
        kind="bars"
        format={text}
        points={days.map(({ date, volume }) => ({ label: date, value: volume, text: text(volume) }))}
      />
    </Section>
  );
}

function Totals({ of: { currency, totals, netVolume, previous }, overview }: CurrencyProps) {
  const text = (amount: number) => money(amount, currency);
  const number = (count: number) => new Intl.NumberFormat().format(count);
  const payments = (filters: Readonly<Record<string, string>> = {}) =>
    listOf('payment', { source: 'all', currency, ...createdIn(overview), ...filters });
  const { failedPayments, refunds, disputedPayments } = totals;
  const before = previous?.totals;
  const compared = (value: number, old: number | undefined, show: (value: number) => string) =>
    old === undefined ? undefined : comparison(value, old, show);
  return (
    <dl class="tiles">
      <Tile
        label="Volume"
        value={text(totals.volume)}
        definition={`Received by ${plural(totals.payments, 'payment')} created in these days, before refunds.`}
        before={compared(totals.volume, before?.volume, text)}
        href={payments()}
      />
      <Tile
        label="Net volume"
        value={text(netVolume.net)}
        definition={`What is left of it: ${text(netVolume.refunded)} was refunded, and disputes hold ${text(netVolume.disputed)}.`}
        before={compared(netVolume.net, previous?.netVolume.net, text)}
        href={payments()}
      />
      <Tile
        label="Succeeded payments"
        value={totals.succeededPayments}
        definition="Created in these days, and paid and not fully refunded now."
        before={compared(totals.succeededPayments, before?.succeededPayments, number)}
        href={payments({ status: 'succeeded' })}
      />
      <Tile
        label="Failed payments"
        value={failedPayments.count}
        definition={`The last attempt failed, and none succeeded since: ${text(failedPayments.amount)}.`}
        before={compared(failedPayments.count, before?.failedPayments.count, number)}
        href={payments({ failed: 'true' })}
      />
      <Tile
        label="Refunds"
        value={text(refunds.amount)}
        definition={`${plural(refunds.count, 'refund')} created in these days, of payments of any age.`}
        before={compared(refunds.amount, before?.refunds.amount, text)}
        href={listOf('refund', { status: 'succeeded', currency, ...createdIn(overview) })}
      />
      <Tile
        label="Disputes"
        value={disputedPayments.count}
        definition={`Payments created in these days that were disputed: ${text(disputedPayments.amount)}.`}
        before={compared(disputedPayments.count, before?.disputedPayments.count, number)}
        href={payments({ disputed: 'true' })}
        isAlarming={disputedPayments.count > 0}
      />
    </dl>
  );
}
