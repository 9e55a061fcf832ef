import type { EventQuery, EventType, TillEvent } from '@till/client';
import { eventTitle, eventTypes } from '../../format/event-title.ts';
import { pageOf, pageOfObject } from '../../links.ts';
import { causeText } from '../../parts/cause.tsx';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { customerFilter, type Filter } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

const filters: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'types',
    label: 'Type',
    options: eventTypes,
    textOf: (type) => type,
  },
  { kind: 'text', name: 'objectId', label: 'Object id', isLowerCase: true },
  customerFilter,
];

const columns: readonly Column<TillEvent>[] = [
  { header: 'Type', cell: ({ id, type }) => <a href={pageOf('event', id)}>{type}</a> },
  { header: 'What happened', cell: (event) => <a href={pageOfObject(event)}>{eventTitle(event)}</a> },
  customerColumn<TillEvent>(),
  { header: 'Time', cell: ({ createdAt }) => <Time value={createdAt} /> },
  { header: 'Cause', cell: ({ cause }) => causeText(cause), isMinor: true },
];

/** The events for applications, newest first. */
export function EventsPage() {
  return (
    <ListPage
      title="Events"
      noun="event"
      list={(address: EventAddress, options) => till().events.list(queryOf(address), options)}
      columns={columns}
      keyOf={({ id }) => id}
      filters={filters}
      reloadOn={() => true}
    />
  );
}

/** The address of the page has one type, and the place as `cursor`. */
interface EventAddress extends Pick<EventQuery, 'objectId' | 'customerId' | 'limit'> {
  readonly types?: EventType | undefined;
  readonly cursor?: string | undefined;
}

function queryOf({ types, cursor, objectId, customerId, limit }: EventAddress): EventQuery {
  return {
    ...{ objectId, customerId, limit, after: cursor, sort: '-createdAt', include: 'customer' },
    types: types === undefined ? undefined : [types],
  };
}
