import type { WebhookEventWithPayload } from '@till/client';
import { useRoute } from 'preact-iso';
import { useReloadWhile } from '../../api/use-reload-while.ts';
import { useResource } from '../../api/use-resource.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { type Action, Actions } from '../../parts/actions.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { AtProcessor, Id, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

export function WebhookEventPage() {
  const { id = '' } = useRoute().params;
  const event = useResource(
    (options) => till().webhookEvents.get(id, options),
    [id],
    () => true,
  );
  // An event that changes nothing sends no live update.
  useReloadWhile(event.value?.state === 'pending', event.reload);
  return (
    <Show resource={event} heading="Webhook event">
      {(value) => (
        <Page
          title={value.type}
          aside={<Status value={value.state} />}
          actions={<Actions of={actions} about={{ id }} onActed={event.reload} />}
        >
          <Details event={value} />
          <Section title="Payload">
            <p class="quiet">Without secrets, and without personal data that Till does not need.</p>
            <CodeBlock label="Payload" text={JSON.stringify(value.payload, null, 2)} />
          </Section>
        </Page>
      )}
    </Show>
  );
}

const actions: readonly Action<{ readonly id: string }>[] = [
  { label: 'Replay', Dialog: Replay, isPossible: () => true },
];

function Replay({ id, onClose }: Closing & { readonly id: string }) {
  return (
    <ActionDialog
      title="Replay webhook event"
      confirm="Replay"
      done="The webhook event is pending again"
      onClose={onClose}
      act={(idempotencyKey) => till().webhookEvents.replay(id, { idempotencyKey })}
    >
      <p>
        Till processes this event again. That is safe: it changes something only if it is newer than what Till
        knows.
      </p>
    </ActionDialog>
  );
}

function Details({ event }: { readonly event: WebhookEventWithPayload }) {
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Error', event.lastError ?? undefined],
          ['Attempts', event.attempts],
          ['Next attempt', event.nextTryAt === null ? undefined : <Time value={event.nextTryAt} />],
          ['Object', <Id value={event.objectId} />],
          ['Created at the processor', <Time value={event.createdAt} />],
          ['Received', <Time value={event.receivedAt} />],
          ['Processed', <Time value={event.processedAt} />],
          ['API version', event.apiVersion ?? none],
          ['At the processor', <AtProcessor section="event" id={event.id} />],
        ]}
      />
    </Section>
  );
}
