import { ActionDialog } from '../../parts/action-dialog.tsx';
import { till } from '../../session.ts';

/** A request replays a thousand. More requests than this are not sent at once. */
const requestsMax = 100;

export function ReplayFailed({
  count,
  onClose,
}: {
  readonly count: string;
  readonly onClose: (hasActed: boolean) => void;
}) {
  return (
    <ActionDialog
      title="Replay all failed webhook events"
      confirm="Replay all"
      done="The failed webhook events are pending again"
      onClose={onClose}
      act={replayAll}
    >
      <p>
        Till processes {count} again. That is safe: an event changes something only if it is newer than what
        Till knows. Events that fail again return to this list.
      </p>
    </ActionDialog>
  );
}

async function replayAll(): Promise<void> {
  for (let sent = 0; sent < requestsMax; sent += 1) {
    const { hasMore } = await till().webhookEvents.replayFailed();
    if (!hasMore) return;
  }
}
