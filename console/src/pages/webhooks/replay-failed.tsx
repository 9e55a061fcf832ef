import { useState } from 'preact/hooks';
import { inBatches } from '../../api/in-batches.ts';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { Progress } from '../../parts/progress.tsx';
import { till } from '../../session.ts';

export function ReplayFailed({
  total,
  isCapped,
  onClose,
}: {
  /** How many have failed, counted up to a limit. */
  readonly total: number;
  readonly isCapped: boolean;
  readonly onClose: (hasActed: boolean) => void;
}) {
  const [count, setCount] = useState<number | undefined>(undefined);
  const send = async () => {
    const { replayed, hasMore } = await till().webhookEvents.replayFailed();
    return { count: replayed, hasMore };
  };
  return (
    <ActionDialog
      title="Replay all failed webhook events"
      confirm="Replay all"
      done={(sum) => `${plural(sum, 'failed webhook event')} pending again`}
      onClose={onClose}
      act={() => inBatches(send, setCount)}
      progress={
        count !== undefined && (
          <Progress
            count={count}
            {...(isCapped ? {} : { max: total })}
            text={`${plural(count, 'webhook event')} replayed so far`}
          />
        )
      }
    >
      <p>
        Till processes {isCapped ? 'more than ' : ''}
        {plural(total, 'webhook event')} again. That is safe: an event changes something only if it is newer
        than what Till knows. Events that fail again return to this list.
      </p>
    </ActionDialog>
  );
}
