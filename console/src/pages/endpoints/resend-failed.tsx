import type { EventEndpoint } from '@till/client';
import { plural } from '../../format/words.ts';
import { BatchDialog } from '../../parts/batch-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

/** Sends everything that failed at an endpoint again. */
export function ResendFailed({
  endpoint: { id, url },
  onClose,
}: Closing & { readonly endpoint: EventEndpoint }) {
  return (
    <BatchDialog
      title="Resend all failed events"
      confirm="Resend all failed"
      send={async () => {
        const { count } = await till().eventEndpoints.resendFailed(id);
        return { count, hasMore: count > 0 };
      }}
      progress={(count) => `${plural(count, 'event')} queued so far`}
      done={(sum) => (sum === 0 ? 'Nothing has failed here' : `${plural(sum, 'event')} sent again`)}
      onClose={onClose}
    >
      <p>
        Till sends every event that failed at {url}, and was not sent again since, once more: with the same id
        and content, and outside the order of its object. The application must ignore what it has already
        processed.
      </p>
    </BatchDialog>
  );
}
