import { useState } from 'preact/hooks';
import type { EventEndpoint } from '../../../../client/src/index.ts';
import { inBatches } from '../../api/in-batches.ts';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { Progress } from '../../parts/progress.tsx';
import { till } from '../../session.ts';

/** Sends everything that failed at an endpoint again. */
export function ResendFailed({
  endpoint: { id, url },
  onClose,
}: {
  readonly endpoint: EventEndpoint;
  readonly onClose: (hasActed: boolean) => void;
}) {
  const [count, setCount] = useState<number | undefined>(undefined);
  const send = async () => {
    const resent = await till().eventEndpoints.resendFailed(id);
    return { count: resent.count, hasMore: resent.count > 0 };
  };
  return (
    <ActionDialog
      title="Resend all failed events"
      confirm="Resend all failed"
      done={(sum) => (sum === 0 ? 'Nothing has failed here' : `${plural(sum, 'event')} sent again`)}
      onClose={onClose}
      act={() => inBatches(send, setCount)}
      progress={
        count !== undefined && <Progress count={count} text={`${plural(count, 'event')} queued so far`} />
      }
    >
      <p>
        Till sends every event that failed at {url}, and was not sent again since, once more: with the same id
        and content, and outside the order of its object. The application must ignore what it has already
        processed.
      </p>
    </ActionDialog>
  );
}
