import type { EventEndpoint, TillEvent } from '@till/client';
import { useState } from 'preact/hooks';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { till } from '../../session.ts';

/** Sends an event again, outside its order. */
export function ResendEvent({
  event: { id, type },
  endpoints,
  onClose,
}: Closing & { readonly event: TillEvent; readonly endpoints: readonly EventEndpoint[] }) {
  const [endpointId, setEndpointId] = useState('');
  const enabled = endpoints.filter((endpoint) => endpoint.enabled);
  return (
    <ActionDialog
      title="Resend event"
      confirm="Resend"
      done={({ deliveries }) =>
        deliveries.length === 0
          ? 'No endpoint wants this event'
          : `Resent to ${plural(deliveries.length, 'endpoint')}`
      }
      onClose={onClose}
      act={() => till().events.resend(id, endpointId === '' ? {} : { endpointId })}
    >
      <SelectField label="To" value={endpointId} onInput={setEndpointId}>
        <option value="">All enabled endpoints that want {type}</option>
        {enabled.map((endpoint) => (
          <option key={endpoint.id} value={endpoint.id}>
            {endpoint.url}
          </option>
        ))}
      </SelectField>
      <p>
        Till sends the event again at once, with the same id and content. The application must ignore it if it
        has already processed it. It may arrive after newer events of the same object.
      </p>
    </ActionDialog>
  );
}
