import type { EventDelivery } from '@till/client';
import { deliveryState } from '../../format/delivery-state.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';

export const eventColumn: Column<EventDelivery> = {
  header: 'Event',
  cell: ({ eventId, eventType }) => <a href={pageOf('event', eventId)}>{eventType ?? 'No longer kept'}</a>,
};

export const objectColumn: Column<EventDelivery> = {
  header: 'Object',
  cell: (delivery) => <ObjectLink of={delivery} />,
};

export const endpointColumn = (urlOf: (id: string) => string): Column<EventDelivery> => ({
  header: 'Endpoint',
  cell: ({ endpointId }) => <a href={pageOf('eventEndpoint', endpointId)}>{urlOf(endpointId)}</a>,
});

/** The state of a delivery. */
export const outcomeColumns: readonly Column<EventDelivery>[] = [
  { header: 'Status', cell: (delivery) => <DeliveryStatus of={delivery} /> },
  { header: 'Attempts', cell: ({ attempt }) => attempt, isNumber: true, isMinor: true },
  { header: 'Response', cell: (delivery) => <Response of={delivery} /> },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

/** A refund and a meter have no page of their own. */
function ObjectLink({ of: { objectType, objectId } }: { readonly of: EventDelivery }) {
  if (objectType === null || objectId === null) return none;
  if (objectType === 'refund' || objectType === 'meter') return <>{objectType}</>;
  return <a href={pageOf(objectType, objectId)}>{objectType}</a>;
}

function DeliveryStatus({ of: delivery }: { readonly of: EventDelivery }) {
  const { text, tone } = deliveryState(delivery, Date.now());
  return <Status value={text} tone={tone} />;
}

function Response({
  of: { attempt, responseStatus, responseBody, durationMs },
}: {
  readonly of: EventDelivery;
}) {
  if (attempt === 0) return none;
  const duration = durationMs === null ? '' : ` in ${durationMs} ms`;
  const summary = `${responseStatus ?? 'No response'}${duration}`;
  if (responseBody === null || responseBody === '') return <>{summary}</>;
  return (
    <details>
      <summary>{summary}</summary>
      <code>{responseBody}</code>
    </details>
  );
}
