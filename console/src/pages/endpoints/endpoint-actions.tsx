import type { EventEndpoint, EventEndpointWithSecret } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { listOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import { EndpointSecret } from './endpoint-secret.tsx';

interface ActionProps extends Closing {
  readonly endpoint: EventEndpoint;
}

export function TurnEndpoint({ endpoint: { id, enabled, url }, onClose }: ActionProps) {
  return (
    <ActionDialog
      title={enabled ? 'Turn endpoint off' : 'Turn endpoint on'}
      confirm={enabled ? 'Turn off' : 'Turn on'}
      done={enabled ? 'Endpoint turned off' : 'Endpoint turned on'}
      onClose={onClose}
      act={(idempotencyKey) => till().eventEndpoints.update(id, { enabled: !enabled }, { idempotencyKey })}
    >
      <p>
        {enabled
          ? `Till sends nothing to ${url} until it is turned on again. Events are kept, and sent then.`
          : `Till continues where it stopped: it sends all events since then that it still keeps to ${url}.`}
      </p>
    </ActionDialog>
  );
}

/** Sends events again: the application must ignore those that it knows. */
export function ReplayEndpoint({ endpoint: { id, url }, onClose }: ActionProps) {
  const [after, setAfter] = useState('');
  return (
    <ActionDialog
      title="Replay events"
      confirm="Replay events"
      done="The events are sent again"
      onClose={onClose}
      act={(idempotencyKey) =>
        till().eventEndpoints.replay(id, { after: after === '' ? null : after }, { idempotencyKey })
      }
    >
      <TextField
        label="After the event (empty: all that are kept)"
        value={after}
        hint="The id of an event, as the list of deliveries shows it."
        onInput={(text) => setAfter(text.trim())}
      />
      <p>
        Till sends {after === '' ? 'every event that is kept' : 'the events after this one'} to {url} again,
        under the same ids. The application must ignore what it has already processed.
      </p>
    </ActionDialog>
  );
}

export function RotateSecret({ endpoint: { id }, onClose }: ActionProps) {
  const [rotated, setRotated] = useState<EventEndpointWithSecret | undefined>(undefined);
  if (rotated !== undefined) return <EndpointSecret of={rotated} onClose={() => onClose(true)} />;
  return (
    <ActionDialog
      title="Rotate secret"
      confirm="Rotate secret"
      done="Secret rotated"
      onClose={(hasActed) => (hasActed ? undefined : onClose(false))}
      act={async (idempotencyKey) => {
        setRotated(await till().eventEndpoints.rotateSecret(id, {}, { idempotencyKey }));
      }}
    >
      <p>
        The endpoint gets a new signing secret, which is shown once. For a day, events are signed with both,
        so that the application can change to the new one. After that, the old secret is no longer used.
      </p>
    </ActionDialog>
  );
}

export function DeleteEndpoint({ endpoint: { id, url }, onClose }: ActionProps) {
  const { route } = useLocation();
  return (
    <ActionDialog
      title="Delete endpoint"
      confirm="Delete endpoint"
      isDangerous
      done="Endpoint deleted"
      onClose={(hasActed) => {
        onClose(false);
        if (hasActed) route(listOf('eventEndpoint'));
      }}
      act={() => till().eventEndpoints.delete(id)}
    >
      <p>
        Till sends nothing to {url} any more, and forgets its deliveries. This cannot be undone. To stop only
        for a while, turn the endpoint off.
      </p>
    </ActionDialog>
  );
}
