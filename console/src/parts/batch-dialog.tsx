import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ActionDialog } from './action-dialog.tsx';
import type { Closing } from './dialog.tsx';

/**
 * Each request handles a thousand or more. A list that grows as fast as it is worked off must not keep the dialog
 * running.
 */
const requestsMax = 1_000;

interface Batch {
  readonly count: number;
  readonly hasMore: boolean;
}

interface BatchDialogProps extends Closing {
  readonly title: string;
  /** Says exactly what will happen. */
  readonly children: ComponentChildren;
  readonly confirm: string;
  /** Does a part of the work. It is repeated until nothing is left. */
  readonly send: () => Promise<Batch>;
  /** How much there is to do. Undefined if that is not known. */
  readonly total?: number | undefined;
  readonly progress: (count: number) => string;
  readonly done: (sum: number) => string;
}

/** An action that takes several requests, and shows its progress. */
export function BatchDialog({ send, total, progress, children, ...dialog }: BatchDialogProps) {
  const [count, setCount] = useState<number | undefined>(undefined);
  const act = async () => {
    let sum = 0;
    for (let sent = 0; sent < requestsMax; sent += 1) {
      const batch = await send();
      sum += batch.count;
      setCount(sum);
      if (!batch.hasMore) break;
    }
    return sum;
  };
  const shown = count !== undefined && (
    <p class="progress" role="status">
      {/* Without a maximum, it shows only that it goes on. */}
      <progress
        aria-label={progress(count)}
        {...(total === undefined ? {} : { max: total, value: Math.min(count, total) })}
      />{' '}
      {progress(count)}
    </p>
  );
  return (
    <ActionDialog {...dialog} act={act} progress={shown}>
      {children}
    </ActionDialog>
  );
}
