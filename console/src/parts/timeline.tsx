import type { Page, TillEvent } from '../api/types.ts';
import { useResource } from '../api/use-resource.ts';
import { fieldLabel, words } from '../format/words.ts';
import { pageOf } from '../links.ts';
import { can } from '../session.ts';
import { Section } from './page.tsx';
import { Empty, Show } from './states.tsx';
import { Time } from './values.tsx';

/** The most that the API returns at once. */
const eventsMax = 1_000;

type TimelineOf = { readonly objectId: string } | { readonly customerId: string };

/** What happened to an object or to a customer's objects, newest first, and who did it. */
export function Timeline({ of }: { readonly of: TimelineOf }) {
  const matches = (event: TillEvent) =>
    'objectId' in of ? event.objectId === of.objectId : event.customerId === of.customerId;
  const resource = useResource<Page<TillEvent>>('/events', {
    query: { ...of, limit: eventsMax },
    reloadOn: matches,
  });
  return (
    <Section title="Timeline">
      <Show resource={resource}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No events are kept.</Empty>
          ) : (
            <ol class="timeline">
              {data.toReversed().map((event) => (
                <Entry key={event.id} event={event} isLinked={'customerId' in of} />
              ))}
            </ol>
          )
        }
      </Show>
    </Section>
  );
}

function Entry({ event, isLinked }: { readonly event: TillEvent; readonly isLinked: boolean }) {
  const changed = Object.keys(event.previous).filter((name) => name !== 'updatedAt');
  const title = words(event.type);
  const { objectType } = event;
  return (
    <li>
      <div class="timeline-head">
        {isLinked && objectType !== 'refund' ? (
          <a href={pageOf(objectType, event.objectId)}>{title}</a>
        ) : (
          <strong>{title}</strong>
        )}
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
                  <del>{show(event.previous[name])}</del> <ins>{show(event.data[name])}</ins>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}

function Who({ cause }: { readonly cause: TillEvent['cause'] }) {
  const { kind, keyName, requestId, processorEventId } = cause;
  return (
    <p class="quiet">
      {kind === 'api' ? `API key ${keyName ?? ''}` : words(kind)}
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

function show(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
