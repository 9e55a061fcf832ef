import { useRef, useState } from 'preact/hooks';
import type { TillEvent } from '../../../client/src/index.ts';
import { History } from '../api/history.ts';
import { useResource } from '../api/use-resource.ts';
import { eventTitle } from '../format/event-title.ts';
import { isInstant, readable } from '../format/readable.ts';
import { fieldLabel } from '../format/words.ts';
import { pageOf } from '../links.ts';
import { can, till } from '../session.ts';
import { Section } from './page.tsx';
import { Empty, Show } from './states.tsx';
import { Time } from './values.tsx';

/** As many as fit on two screens. */
const eventsShown = 20;

/** The fields of an object of any type. */
type Data = Readonly<Record<string, unknown>>;

type TimelineOf = { readonly objectId: string } | { readonly customerId: string };

/** What happened to an object or to a customer's objects, newest first, and who did it. */
export function Timeline({ of }: { readonly of: TimelineOf }) {
  const matches = (event: TillEvent) =>
    'objectId' in of ? event.objectId === of.objectId : event.customerId === of.customerId;
  const history = useRef(new History((query, options) => till().events.list(query, options).page()));
  const resource = useResource(({ signal }) => history.current.read(of, signal), [of], matches);
  return (
    <Section title="Timeline">
      <Show resource={resource}>
        {({ events, isComplete }) => (
          <>
            {events.length === 0 && <Empty>No events are kept.</Empty>}
            {!isComplete && (
              <p class="more">
                <span role="status">The newest events are not read yet: there are very many.</span>{' '}
                <button type="button" onClick={resource.reload}>
                  Read on
                </button>
              </p>
            )}
            <Entries newestFirst={events.toReversed()} isLinked={'customerId' in of} />
          </>
        )}
      </Show>
    </Section>
  );
}

function Entries({
  newestFirst,
  isLinked,
}: {
  readonly newestFirst: readonly TillEvent[];
  readonly isLinked: boolean;
}) {
  const [shown, setShown] = useState(eventsShown);
  const left = newestFirst.length - shown;
  return (
    <>
      <ol class="timeline">
        {newestFirst.slice(0, shown).map((event) => (
          <Entry key={event.id} event={event} isLinked={isLinked} />
        ))}
      </ol>
      {left > 0 && (
        <p class="more">
          <button type="button" onClick={() => setShown(shown + eventsShown)}>
            Show more
          </button>{' '}
          <span class="quiet">{left} older</span>
        </p>
      )}
    </>
  );
}

function Entry({ event, isLinked }: { readonly event: TillEvent; readonly isLinked: boolean }) {
  const { data, previous }: { readonly data: Data; readonly previous: Data } = event;
  const changed = Object.keys(previous).filter((name) => name !== 'updatedAt');
  const title = eventTitle(event);
  const page = isLinked ? pageOfEvent(event) : null;
  return (
    <li>
      <div class="timeline-head">
        {page === null ? <strong>{title}</strong> : <a href={page}>{title}</a>}
        <Time value={event.createdAt} />
      </div>
      <Who cause={event.cause} />
      {changed.length > 0 && (
        <details>
          <summary>{changed.map(fieldLabel).join(', ')}</summary>
          <dl class="changes">
            {changed.map((name) => (
              <div key={name}>
                <dt>{fieldLabel(name)}</dt>
                <dd>
                  <span class="visually-hidden">Before: </span>
                  <del>
                    <Value name={name} value={previous[name]} of={data} />
                  </del>{' '}
                  <span class="visually-hidden">After: </span>
                  <ins>
                    <Value name={name} value={data[name]} of={data} />
                  </ins>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}

/** A refund is shown on the page of its payment. The page of a customer is where its own events are shown. */
function pageOfEvent({ objectType, objectId, data }: TillEvent): string | null {
  if (objectType === 'customer') return null;
  return objectType === 'refund' ? pageOf('payment', data.paymentId) : pageOf(objectType, objectId);
}

/** The fields that name another object with a page. */
const references: Readonly<Record<string, Parameters<typeof pageOf>[0]>> = {
  customerId: 'customer',
  planId: 'plan',
  paymentId: 'payment',
  subscriptionId: 'subscription',
  invoiceId: 'invoice',
  latestInvoiceId: 'invoice',
};

function Value({ name, value, of }: { readonly name: string; readonly value: unknown; readonly of: Data }) {
  const type = references[name];
  if (type !== undefined && typeof value === 'string') return <a href={pageOf(type, value)}>{value}</a>;
  if (isInstant(value)) return <Time value={value} isExact />;
  const { currency } = of;
  return <>{readable(name, value, typeof currency === 'string' ? currency : undefined)}</>;
}

/** Who or what caused a change, if no request did. */
const causes: Readonly<Record<Exclude<TillEvent['cause']['kind'], 'api'>, string>> = {
  webhook: 'Reported by the processor',
  recovery: 'Found by Till in the events that it had missed',
  resync: 'Found by a resync',
  import: 'Imported from the processor',
  sweeper: 'Found by Till at a regular check',
};

function Who({ cause }: { readonly cause: TillEvent['cause'] }) {
  const { kind, keyName, requestId, processorEventId } = cause;
  return (
    <p class="quiet">
      {kind === 'api' ? `By the API key ${keyName ?? ''}` : causes[kind]}
      {requestId !== null && (
        <>
          {' · request '}
          <code>{requestId}</code>
        </>
      )}
      {processorEventId !== null && (
        <>
          {' · '}
          {can('operate') ? (
            <a href={pageOf('webhookEvent', processorEventId)}>{processorEventId}</a>
          ) : (
            <code>{processorEventId}</code>
          )}
        </>
      )}
    </p>
  );
}
