import type { Overview } from '@till/client';
import type { ComponentChildren } from 'preact';
import { comparison, percent } from '../../format/comparison.ts';
import { money } from '../../format/money.ts';
import type { DayRange } from '../../format/periods.ts';
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

interface LinksProps {
  readonly currency: string;
  readonly overview: Overview;
}

/** The list of the changes that a number adds up. Undefined if the list is incomplete. */
function movesIn(move: string, days: DayRange, { currency, overview }: LinksProps): string | undefined {
  const { movesSince, subscriptionsSince } = overview;
  const isWhole = movesSince <= days.from || movesSince === subscriptionsSince;
  return isWhole ? listOf('move', { move, currency, from: days.from, to: days.to }) : undefined;
}

/** The list of the subscribers. It exists only for the current day. */
function subscribersOf({ currency, overview: { asOf, endsAt } }: LinksProps): string | undefined {
  return asOf < endsAt ? listOf('subscriber', { currency }) : undefined;
}

function Linked({ to, children }: { readonly to: string | undefined; readonly children: ComponentChildren }) {
  return to === undefined ? <>{children}</> : <a href={to}>{children}</a>;
}

/** The parts of a bridge in their order, each with the sign before it. */
const parts: readonly { readonly name: Part; readonly label: string; readonly sign: string }[] = [
  { name: 'start', label: 'Start', sign: '' },
  { name: 'new', label: 'New', sign: '+' },
  { name: 'expansion', label: 'Expansion', sign: '+' },
  { name: 'reactivated', label: 'Reactivated', sign: '+' },
  { name: 'contraction', label: 'Contraction', sign: '−' },
  { name: 'churned', label: 'Churned', sign: '−' },
  { name: 'end', label: 'End', sign: '=' },
];

/** What subscriptions were worth at the start and the end of these days, and why that changed. */
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
            header: label,
            isNumber: true,
            cell: (step) => (
              <Linked to={name === 'start' ? undefined : movesIn(name, step, { currency, overview })}>
                {text(step[name])}
              </Linked>
            ),
          }),
        )}
      />
      <BridgeParts of={mrr} currency={currency} overview={overview} />
      <Rates of={of} overview={overview} />
    </>
  );
}

function labelOf({ from, to }: Step): string {
  return from === to ? from : `${from} – ${to}`;
}

/** The parts of the bridge, from the start to the end. */
function BridgeParts({ of, ...links }: LinksProps & { readonly of: Bridge }) {
  const linkOf = (name: Part) => {
    // `start` has no link: only the current subscribers can be listed.
    if (name === 'start') return undefined;
    return name === 'end' ? subscribersOf(links) : movesIn(name, links.overview, links);
  };
  return (
    <dl class="bridge" aria-label="How monthly recurring revenue moved">
      {parts.map(({ name, label, sign }) => (
        <div key={name}>
          <dt>{label}</dt>
          <dd>
            {sign} <Linked to={linkOf(name)}>{money(of[name], links.currency)}</Linked>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Rates({ of, overview }: GrowthProps) {
  const { currency, mrr, subscribers, trials, recovery, previous } = of;
  const text = (amount: number) => money(amount, currency);
  const number = (count: number) => new Intl.NumberFormat().format(count);
  const compared = (value: number, old: number | undefined, show: (value: number) => string) =>
    old === undefined ? undefined : comparison(value, old, show);
  const before = (share: number | null | undefined) =>
    share === undefined ? undefined : `${percent(share)} before.`;
  const links = { currency, overview };
  const some = (move: string, count: number | undefined, what: string) => (
    <Linked to={movesIn(move, overview, links)}>{`${number(count ?? 0)} ${what}`}</Linked>
  );
  return (
    <dl class="tiles">
      <Tile
        label="MRR at the end"
        value={text(mrr?.end ?? 0)}
        definition="What active and past-due subscriptions charged in a month at the end of these days, before discounts and taxes."
        before={compared(mrr?.end ?? 0, previous?.mrr?.end, text)}
        href={subscribersOf(links)}
      />
      <Tile
        label="Subscribers"
        value={number(subscribers?.end ?? 0)}
        definition={`Customers who pay for subscriptions: ${number(subscribers?.gained ?? 0)} gained and ${number(subscribers?.lost ?? 0)} lost of ${number(subscribers?.start ?? 0)}. Those gained are new or reactivated.`}
        before={compared(subscribers?.end ?? 0, previous?.subscribers?.end, number)}
        href={subscribersOf(links)}
      />
      <Tile
        label="Churn rate"
        value={percent(subscribers?.churnRate ?? null)}
        definition={
          <>
            {some('churned', subscribers?.lost, 'lost')}, of {number(subscribers?.start ?? 0)} subscribers at
            the start.
          </>
        }
        before={before(previous?.subscribers?.churnRate)}
      />
      <Tile
        label="Trial conversion"
        value={percent(trials?.conversionRate ?? null)}
        definition={
          <>
            {some('trial_converted', trials?.converted, 'converted')} and{' '}
            {some('trial_expired', trials?.expired, 'expired')};{' '}
            {some('trial_started', trials?.started, 'started')}.
          </>
        }
        before={before(previous?.trials?.conversionRate)}
      />
      <Tile
        label="Recovered renewals"
        value={percent(recovery?.recoveryRate ?? null)}
        definition={
          <>
            {some('renewal_failed', recovery?.failed, 'failed at first')},{' '}
            {some('renewal_recovered', recovery?.recovered, 'recovered')} and{' '}
            {some('renewal_lost', recovery?.lost, 'lost')}.
          </>
        }
        before={before(previous?.recovery?.recoveryRate)}
      />
    </dl>
  );
}
