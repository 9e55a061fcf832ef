import { useId, useRef, useState } from 'preact/hooks';
import type { EventEndpoint, EventEndpointWithSecret, EventType } from '../../../../client/src/index.ts';
import { eventTypes } from '../../../../src/events/event.ts';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';

/** Adds an endpoint, or changes one. */
export function SaveEndpoint({
  endpoint,
  onClose,
}: {
  readonly endpoint?: EventEndpoint;
  /** Undefined if nothing was saved. */
  readonly onClose: (saved: EventEndpointWithSecret | undefined) => void;
}) {
  const [url, setUrl] = useState(endpoint?.url ?? '');
  const [description, setDescription] = useState(endpoint?.description ?? '');
  const [types, setTypes] = useState<readonly EventType[] | null>(() => {
    const chosen = endpoint?.types ?? null;
    return chosen && eventTypes.filter((type) => chosen.includes(type));
  });
  const saved = useRef<EventEndpointWithSecret | undefined>(undefined);
  const isUrl = URL.canParse(url);
  const verb = endpoint === undefined ? 'Add' : 'Change';
  return (
    <ActionDialog
      title={`${verb} endpoint`}
      confirm={`${verb} endpoint`}
      isReady={isUrl && types?.length !== 0}
      done={endpoint === undefined ? 'Endpoint added' : 'Endpoint changed'}
      onClose={() => onClose(saved.current)}
      act={async (idempotencyKey) => {
        const body = { url, types, description: description === '' ? null : description };
        saved.current =
          endpoint === undefined
            ? await till().eventEndpoints.create(body, { idempotencyKey })
            : {
                ...(await till().eventEndpoints.update(endpoint.id, body, { idempotencyKey })),
                secret: null,
              };
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
