import type { EventEndpoint, TillEvent } from '@till/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { useReloadWhile } from '../../api/use-reload-while.ts';
import { useResource } from '../../api/use-resource.ts';
import { eventTitle } from '../../format/event-title.ts';
import { pageOfObject } from '../../links.ts';
import { Cause } from '../../parts/cause.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { CustomerById } from '../../parts/customer-link.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Id, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { endpointColumn, outcomeColumns } from './delivery-columns.tsx';
import { ResendEvent } from './resend-event.tsx';

/** More deliveries of one event than the endpoints and some resends make. */
const deliveriesShown = 100;

export function EventPage() {
  const { id = '' } = useRoute().params;
  const event = useResource((options) => till().events.get(id, options), [id]);
  return (
    <Show resource={event} heading="Event">
      {(value) => (can('operate') ? <WithDeliveries event={value} /> : <EventContent event={value} />)}
    </Show>
  );
}

/** Deliveries change without an event, so they are read again while one waits. */
function WithDeliveries({ event }: { readonly event: TillEvent }) {
  const [isOpen, setOpen] = useState(false);
  const resource = useResource(
    async (options) => {
      const [deliveries, endpoints] = await Promise.all([
        till().events.deliveries(event.id, { limit: deliveriesShown }, options).page(),
        till().eventEndpoints.list({ limit: 100 }, options).page(),
      ]);
      return { deliveries: deliveries.data, endpoints: endpoints.data };
    },
    [event.id],
    () => true,
  );
  const { deliveries = [], endpoints = [] } = resource.value ?? {};
  useReloadWhile(
    deliveries.some(({ status }) => status === 'pending'),
    resource.reload,
  );
  return (
    <EventContent
      event={event}
      actions={
        <button type="button" onClick={() => setOpen(true)}>
          Resend
        </button>
      }
    >
      <Section title="Deliveries">
        <Show resource={resource}>
          {() => (
            <DataTable
              caption="Deliveries"
              empty="This event was not sent to an endpoint yet."
              columns={[endpointColumn((id) => urlOf(endpoints, id)), ...outcomeColumns]}
              rows={deliveries}
              keyOf={(delivery) => delivery.id}
            />
          )}
        </Show>
      </Section>
      {isOpen && (
        <ResendEvent
          event={event}
          endpoints={endpoints}
          onClose={(hasActed) => {
            setOpen(false);
            if (hasActed) resource.reload();
          }}
        />
      )}
    </EventContent>
  );
}

function urlOf(endpoints: readonly EventEndpoint[], id: string): string {
  return endpoints.find((endpoint) => endpoint.id === id)?.url ?? 'Deleted endpoint';
}

function EventContent({
  event,
  actions,
  children,
}: {
  readonly event: TillEvent;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const { customerId } = event;
  return (
    <Page title={event.type} actions={actions}>
      <Section title="Details">
        <Fields
          of={[
            ['What happened', <a href={pageOfObject(event)}>{eventTitle(event)}</a>],
            ['Customer', <CustomerById id={customerId} />],
            ['Time', <Time value={event.createdAt} />],
            ['Cause', <Cause of={event.cause} />],
            ['Id', <Id value={event.id} />],
          ]}
        />
      </Section>
      {children}
      <Section title="Payload">
        <p class="quiet">What applications get, in the feed and at their endpoints.</p>
        <CodeBlock label="Payload" text={JSON.stringify(event, null, 2)} />
      </Section>
    </Page>
  );
}
