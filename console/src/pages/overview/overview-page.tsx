import type { Overview } from '@till/client';
import { useLocation } from 'preact-iso';
import { daysDefault } from '../../../../src/operators/overview/overview-range.ts';
import { useResource } from '../../api/use-resource.ts';
import { lastDays } from '../../format/periods.ts';
import { timeZone } from '../../format/time-zone.ts';
import { attentionPage, listOf } from '../../links.ts';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Tile } from '../../parts/tile.tsx';
import { Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { summaryOf, urgentTypes } from '../attention/attention.ts';
import { CurrencySection } from './currency-section.tsx';
import { FirstSteps } from './first-steps.tsx';
import { intervalOf } from './range.ts';
import { RangePicker } from './range-picker.tsx';

const counted = ['payment', 'refund', 'subscription'];

/** The numbers of the business, and whether Till keeps up with its work. */
export function OverviewPage() {
  const { query } = useLocation();
  // A cleared day is empty in the address.
  const from = query['from'] || undefined;
  const to = query['to'] || undefined;
  const latest = lastDays(daysDefault, timeZone.dayOf(Date.now()));
  const asked = { from: from ?? latest.from, to: to ?? latest.to };
  const interval = intervalOf(query['interval'], asked);
  const overview = useResource(
    (options) => till().overview({ from, to, interval, compare: 'previous' }, options),
    [from, to, interval],
    ({ objectType }) => counted.includes(objectType),
  );
  // The setting may have changed since the tab was loaded.
  const zoneName = overview.value?.timeZone ?? timeZone.name;
  return (
    <Page title="Overview">
      <FirstSteps />
      <NeedsAttention />
      {/* It stays while other days are loaded, and after days that the server refuses. */}
      <RangePicker range={overview.value ?? asked} interval={interval} zoneName={zoneName} />
      <Show resource={overview}>
        {(value) => (
          <>
            {!value.isCurrent && (
              <div class="banner" role="status">
                Many changes are still being counted. The numbers are those of <Time value={value.asOf} />.
              </div>
            )}
            <Subscriptions of={value} />
            {value.currencies.length === 0 ? (
              <Empty>No payments and no subscriptions yet. Numbers appear with the first one.</Empty>
            ) : (
              value.currencies.map((one) => <CurrencySection key={one.currency} of={one} overview={value} />)
            )}
            {can('operate') && <Webhooks of={value} />}
          </>
        )}
      </Show>
    </Page>
  );
}

/** A summary of the attention page, in one line. */
function NeedsAttention() {
  const attention = useResource(
    (options) => till().attention(options),
    [],
    ({ objectType }) => urgentTypes.includes(objectType),
  );
  if (attention.value === undefined) return null;
  const summary = summaryOf(attention.value);
  if (summary.length === 0) return <p class="attention">All is well: nothing needs attention.</p>;
  return (
    <p class="attention urgent">
      <a href={attentionPage}>Needs attention</a>: {summary.join(', ')}.
    </p>
  );
}

function Subscriptions({ of: { subscriptions } }: { readonly of: Overview }) {
  const { active, trialing, pastDue, unpaid } = subscriptions;
  return (
    <Section title="Subscriptions now">
      <dl class="tiles">
        <Tile
          label="Active"
          value={active}
          definition="Paid for the current period."
          href={listOf('subscription', { status: 'active' })}
        />
        <Tile
          label="Trialing"
          value={trialing}
          definition="In a trial, and not charged yet."
          href={listOf('subscription', { status: 'trialing' })}
        />
        <Tile
          label="At risk"
          value={pastDue}
          definition="Past due: the last invoice is not paid, and the processor retries."
          href={listOf('subscription', { status: 'past_due' })}
          isAlarming={pastDue > 0}
        />
        <Tile
          label="Unpaid"
          value={unpaid}
          definition="The processor has given up, or billing is paused."
          href={listOf('subscription', { status: 'unpaid' })}
          isAlarming={unpaid > 0}
        />
      </dl>
    </Section>
  );
}

function Webhooks({ of: { webhooks } }: { readonly of: Overview }) {
  const { pending, failed, lagSeconds } = webhooks;
  return (
    <Section title="Webhooks now">
      <dl class="tiles">
        <Tile
          label="Lag"
          value={lagSeconds === null ? 'None' : `${Math.ceil(lagSeconds)} s`}
          definition="How long the event that waits longest has been due."
          href={listOf('webhookEvent', { state: 'pending' })}
        />
        <Tile
          label="Backlog"
          value={pending}
          definition="Received, and not processed yet."
          href={listOf('webhookEvent', { state: 'pending' })}
        />
        <Tile
          label="Failed"
          value={failed}
          definition="Could not be processed and are not retried. Replay them."
          href={listOf('webhookEvent', { state: 'failed' })}
          isAlarming={failed > 0}
        />
      </dl>
    </Section>
  );
}
