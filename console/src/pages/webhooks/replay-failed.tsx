import { plural } from '../../format/words.ts';
import { BatchDialog } from '../../parts/batch-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

export function ReplayFailed({
  total,
  isCapped,
  onClose,
}: Closing & {
  /** How many have failed, counted up to a limit. */
  readonly total: number;
  readonly isCapped: boolean;
}) {
  return (
    <BatchDialog
      title="Replay all failed webhook events"
      confirm="Replay all"
      send={async () => {
        const { replayed, hasMore } = await till().webhookEvents.replayFailed();
        return { count: replayed, hasMore };
      }}
      total={isCapped ? undefined : total}
      progress={(count) => `${plural(count, 'webhook event')} replayed so far`}
      done={(sum) => `${plural(sum, 'failed webhook event')} pending again`}
      onClose={onClose}
    >
      <p>
        Till processes {isCapped ? 'more than ' : ''}
        {plural(total, 'webhook event')} again. That is safe: an event changes something only if it is newer
        than what Till knows. Events that fail again return to this list.
      </p>
    </BatchDialog>
  );
}
