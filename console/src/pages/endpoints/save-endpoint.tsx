import type { EventEndpoint, EventEndpointWithSecret, EventType } from '@till/client';
import { useId, useState } from 'preact/hooks';
import { eventTypes } from '../../format/event-title.ts';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import { EndpointSecret } from './endpoint-secret.tsx';

/** Adds an endpoint and shows its secret once, or changes an endpoint. */
export function SaveEndpoint({ endpoint, onClose }: Closing & { readonly endpoint?: EventEndpoint }) {
  const [url, setUrl] = useState(endpoint?.url ?? '');
  const [description, setDescription] = useState(endpoint?.description ?? '');
  const [types, setTypes] = useState<readonly EventType[] | null>(() => {
    const chosen = endpoint?.types ?? null;
    return chosen && eventTypes.filter((type) => chosen.includes(type));
  });
  const [added, setAdded] = useState<EventEndpointWithSecret | undefined>(undefined);
  const isUrl = URL.canParse(url);
  const verb = endpoint === undefined ? 'Add' : 'Change';
  if (added !== undefined) return <EndpointSecret of={added} onClose={() => onClose(true)} />;
  return (
    <ActionDialog
      title={`${verb} endpoint`}
      confirm={`${verb} endpoint`}
      isReady={isUrl && types?.length !== 0}
      done={endpoint === undefined ? 'Endpoint added' : 'Endpoint changed'}
      onClose={(hasActed) => (hasActed && endpoint === undefined ? undefined : onClose(hasActed))}
      act={async (idempotencyKey) => {
        const body = { url, types, description: description === '' ? null : description };
        if (endpoint === undefined) setAdded(await till().eventEndpoints.create(body, { idempotencyKey }));
        else await till().eventEndpoints.update(endpoint.id, body, { idempotencyKey });
      }}
    >
      <TextField
        label="URL"
        value={url}
        isValid={url === '' || isUrl}
        hint="https, at an address that the internet reaches."
        onInput={(text) => setUrl(text.trim())}
      />
      <TextField
        label="Description (optional)"
        value={description}
        maxlength={500}
        onInput={setDescription}
      />
      <Types chosen={types} onChange={setTypes} />
      {isUrl && types?.length !== 0 && (
        <p>
          Till sends {types === null ? 'all events' : `events of ${plural(types.length, 'type')}`} to {url},
          from now on, signed with the endpoint's own secret.
        </p>
      )}
    </ActionDialog>
  );
}

/** Null: all types. */
function Types({
  chosen,
  onChange,
}: {
  readonly chosen: readonly EventType[] | null;
  readonly onChange: (chosen: readonly EventType[] | null) => void;
}) {
  const id = useId();
  return (
    <fieldset class="checks">
      <legend>Events</legend>
      <div class="check">
        <input
          id={`${id}-all`}
          type="checkbox"
          checked={chosen === null}
          onChange={({ currentTarget }) => onChange(currentTarget.checked ? null : [])}
        />
        <label for={`${id}-all`}>All types, including those of later releases</label>
      </div>
      {chosen !== null &&
        eventTypes.map((type) => (
          <div key={type} class="check">
            <input
              id={`${id}-${type}`}
              type="checkbox"
              checked={chosen.includes(type)}
              onChange={({ currentTarget }) =>
                onChange(
                  eventTypes.filter((one) => (one === type ? currentTarget.checked : chosen.includes(one))),
                )
              }
            />
            <label for={`${id}-${type}`}>{type}</label>
          </div>
        ))}
      {chosen?.length === 0 && <p role="status">Choose at least one type.</p>}
    </fieldset>
  );
}
