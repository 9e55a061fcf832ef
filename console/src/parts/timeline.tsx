import type { TillEvent } from '@till/client';
import { useRef, useState } from 'preact/hooks';
import { History } from '../api/history.ts';
import { useResource } from '../api/use-resource.ts';
import { eventTitle } from '../format/event-title.ts';
import { isInstant, readable } from '../format/readable.ts';
import { fieldLabel } from '../format/words.ts';
import { pageOf, pageOfObject } from '../links.ts';
import { till } from '../session.ts';
import { Cause } from './cause.tsx';
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
      <p class="quiet">
        <Cause of={event.cause} /> · <a href={pageOf('event', event.id)}>Event</a>
      </p>
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

/** The page of a customer is where its own events are shown. */
function pageOfEvent(event: TillEvent): string | null {
  return event.objectType === 'customer' ? null : pageOfObject(event);
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
