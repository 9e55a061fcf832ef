import type { Subscription, SubscriptionChangePreview } from '@till/client';
import { useEffect, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../../api/failure.ts';
import { till } from '../../session.ts';
import type { ChangeBody } from './wanted-terms.ts';

/** A preview calls the processor, so it waits until the user stops typing. */
const pauseMs = 300;

interface Loaded {
  readonly of: string;
  readonly preview?: SubscriptionChangePreview;
  readonly failure?: Failure;
}

/** The preview of a change. Both are undefined while it loads. A preview of other inputs is never shown. */
export function usePreview(
  { id, updatedAt }: Pick<Subscription, 'id' | 'updatedAt'>,
  body: ChangeBody | undefined,
): Omit<Loaded, 'of'> {
  const [loaded, setLoaded] = useState<Loaded>({ of: '' });
  // Another change of the subscription makes the preview stale.
  const of = body === undefined ? '' : JSON.stringify([id, updatedAt, body]);
  useEffect(() => {
    if (body === undefined) return undefined;
    const stopped = new AbortController();
    const load = () =>
      till()
        .subscriptions.preview(id, body, { signal: stopped.signal })
        .then(
          (preview) => setLoaded({ of, preview }),
          (error: unknown) => {
            if (!stopped.signal.aborted) setLoaded({ of, failure: failureOf(error) });
          },
        );
    const timer = setTimeout(load, pauseMs);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [of]);
  return loaded.of === of ? loaded : {};
}
