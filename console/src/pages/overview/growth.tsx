import type { Overview } from '../../../../client/src/index.ts';
import { comparison, percent } from '../../format/comparison.ts';
import { money } from '../../format/money.ts';
import { listOf } from '../../links.ts';
import { Chart } from '../../parts/chart.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Empty } from '../../parts/states.tsx';
import { Tile } from '../../parts/tile.tsx';

export type CurrencyNumbers = Overview['currencies'][number];
type Bridge = NonNullable<CurrencyNumbers['mrr']>;
type Part = Exclude<keyof Bridge, 'series'>;
type Step = Bridge['series'][number];

interface GrowthProps {
  readonly of: CurrencyNumbers;
  readonly overview: Overview;
}

/** The parts of a bridge in their order, and what is before each. */
const parts: readonly { readonly name: Part; readonly label: string; readonly sign: string }[] = [
  { name: 'start', label: 'Start', sign: '' },
  { name: 'new', label: 'New', sign: '+' },
  { name: 'expansion', label: 'Expansion', sign: '+' },
  { name: 'reactivated', label: 'Reactivated', sign: '+' },
  { name: 'contraction', label: 'Contraction', sign: '−' },
  { name: 'churned', label: 'Churned', sign: '−' },
  { name: 'end', label: 'End', sign: '=' },
];

/** What subscriptions were worth in these days, and why that changed. */
export function Growth({ of, overview }: GrowthProps) {
  const { currency, mrr } = of;
  const { from, subscriptionsSince } = overview;
  if (mrr === null)
    return <Empty>{`Numbers about subscriptions are known since ${subscriptionsSince}.`}</Empty>;
  const text = (amount: number) => money(amount, currency);
  return (
    <>
      <Chart
        title="Monthly recurring revenue"
        kind="line"
        format={text}
        note={subscriptionsSince > from ? `Known since ${subscriptionsSince}.` : undefined}
        points={mrr.series.map((step) => ({
          ...step,
          ...{ label: labelOf(step), value: step.end, text: text(step.end) },
        }))}
        columns={parts.slice(0, -1).map(
          ({ name, label }): Column<Step & { label: string; value: number; text: string }> => ({
            ...{ header: label, isNumber: true, cell: (step) => text(step[name]) },
          }),
        )}
      />
      <BridgeParts of={mrr} text={text} />
      <Rates of={of} />
    </>
  );
}

function labelOf({ from, to }: Step): string {
  return from === to ? from : `${from} – ${to}`;
}

/** From the start to the end, part by part. */
function BridgeParts({ of, text }: { readonly of: Bridge; readonly text: (amount: number) => string }) {
  return (
    <dl class="bridge" aria-label="How monthly recurring revenue moved">
      {parts.map(({ name, label, sign }) => (
        <div key={name}>
          <dt>{label}</dt>
          <dd>
            {sign} {text(of[name])}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Rates({ of: { currency, mrr, subscribers, trials, recovery, previous } }: Pick<GrowthProps, 'of'>) {
  const text = (amount: number) => money(amount, currency);
  const number = (count: number) => new Intl.NumberFormat().format(count);
  const compared = (value: number, old: number | undefined, show: (value: number) => string) =>
    old === undefined ? undefined : comparison(value, old, show);
  const before = (share: number | null | undefined) =>
    share === undefined ? undefined : `${percent(share)} before.`;
  const subscriptions = (filters: Readonly<Record<string, string>> = {}) =>
    listOf('subscription', { currency, ...filters });
  return (
    <dl class="tiles">
      <Tile
        label="MRR at the end"
        value={text(mrr?.end ?? 0)}
        definition="What active and past-due subscriptions charged in a month at the end of these days, before discounts and taxes."
        before={compared(mrr?.end ?? 0, previous?.mrr?.end, text)}
        href={subscriptions()}
      />
      <Tile
        label="Subscribers"
        value={number(subscribers?.end ?? 0)}
        definition={`Customers who pay for subscriptions: ${number(subscribers?.gained ?? 0)} gained and ${number(subscribers?.lost ?? 0)} lost of ${number(subscribers?.start ?? 0)}.`}
        before={compared(subscribers?.end ?? 0, previous?.subscribers?.end, number)}
        href={subscriptions({ status: 'active' })}
      />
      <Tile
        label="Churn rate"
        value={percent(subscribers?.churnRate ?? null)}
        definition="Subscribers lost, of those at the start."
        before={before(previous?.subscribers?.churnRate)}
        href={subscriptions({ status: 'canceled' })}
      />
      <Tile
        label="Trial conversion"
        value={percent(trials?.conversionRate ?? null)}
        definition={`${number(trials?.converted ?? 0)} converted and ${number(trials?.expired ?? 0)} expired; ${number(trials?.started ?? 0)} started.`}
        before={before(previous?.trials?.conversionRate)}
        href={subscriptions({ status: 'trialing' })}
      />
      <Tile
        label="Recovered renewals"
        value={percent(recovery?.recoveryRate ?? null)}
        definition={`${number(recovery?.failed ?? 0)} failed at first, ${number(recovery?.recovered ?? 0)} recovered and ${number(recovery?.lost ?? 0)} lost.`}
        before={before(previous?.recovery?.recoveryRate)}
        href={subscriptions({ status: 'past_due' })}
      />
    </dl>
  );
}
