import { newIdempotencyKey } from '@till/client';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../api/failure.ts';
import { Dialog } from './dialog.tsx';
import { notify } from './notices.tsx';

interface ActionDialogProps<Result> {
  readonly title: string;
  /** Says exactly what will happen. */
  readonly children: ComponentChildren;
  /** The text of the button that runs the action: `Refund €5.00`. */
  readonly confirm: string;
  /** Destroys something, or takes money. */
  readonly isDangerous?: boolean;
  /** The text of the button that cancels. */
  readonly dismiss?: string;
  /** False while the inputs are not valid. */
  readonly isReady?: boolean;
  /** Runs the action. One dialog uses one idempotency key, so that the action has its effect once. */
  readonly act: (idempotencyKey: string) => Promise<Result>;
  /** Shown while it acts. */
  readonly progress?: ComponentChildren;
  /** What to do about a failure, if its own text does not say it. */
  readonly adviceOn?: (error: unknown) => ComponentChildren;
  /** Shown after a success. */
  readonly done: string | ((result: Result) => string);
  /** After a success or a cancellation. */
  readonly onClose: (hasActed: boolean) => void;
}

/** Asks for confirmation, runs the action once, and shows why it failed. */
export function ActionDialog<Result>(props: ActionDialogProps<Result>) {
  const { isSending, failure, send } = useAction(props);
  // While it is unknown whether the action happened, only the same action may be tried again.
  const isUnresolved = failure?.isUnresolved === true;
  const { children, confirm, isReady } = useUnchanged(props, isSending || isUnresolved);
  return (
    <Dialog
      title={props.title}
      onCancel={() => {
        if (!isSending) props.onClose(false);
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <fieldset class="dialog-body" disabled={isSending || isUnresolved}>
          {children}
        </fieldset>
        {isSending && props.progress}
        {failure !== undefined && <Problem failure={failure} advice={props.adviceOn?.(failure.error)} />}
        <div class="dialog-actions">
          <button type="button" disabled={isSending} onClick={() => props.onClose(false)}>
            {props.dismiss ?? 'Cancel'}
          </button>
          <button
            type="submit"
            class={props.isDangerous === true ? 'danger' : 'primary'}
            disabled={isSending || isReady === false}
          >
            {isSending ? 'Working…' : confirm}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why something did not happen, and how to continue. */
export function Problem({
  failure: { title, detail, requestId, isUnresolved },
  advice,
}: {
  readonly failure: Failure;
  readonly advice: ComponentChildren;
}) {
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      <p>{detail}</p>
      {advice !== undefined && <p>{advice}</p>}
      {isUnresolved && <p>Trying again is safe: the action happens at most once.</p>}
      {requestId !== undefined && (
        <p class="quiet">
          Request id <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}

/**
 * The value of the last render that was not frozen. The action may already have changed what its dialog shows: a
 * payment that is refunded has nothing left to refund, and the same refund can still be tried again.
 */
function useUnchanged<T>(value: T, isFrozen: boolean): T {
  const kept = useRef(value);
  if (!isFrozen) kept.current = value;
  return kept.current;
}

function useAction<Result>(props: ActionDialogProps<Result>) {
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<Failure | undefined>(undefined);
  // A second click can arrive before the first one is rendered.
  const running = useRef(false);
  const key = useRef(newIdempotencyKey());
  // The action that may have happened. The same idempotency key must not be sent with another body.
  const unresolved = useRef<Pick<typeof props, 'act' | 'done'> | undefined>(undefined);
  const send = async () => {
    if (running.current) return;
    running.current = true;
    setSending(true);
    setFailure(undefined);
    const { act, done } = unresolved.current ?? props;
    try {
      const result = await act(key.current);
      notify(typeof done === 'string' ? done : done(result));
      props.onClose(true);
    } catch (error) {
      const result = failureOf(error);
      // A refusal is final, and stored under its idempotency key. The next attempt is another action.
      if (!result.isUnresolved) key.current = newIdempotencyKey();
      unresolved.current = result.isUnresolved ? { act, done } : undefined;
      setFailure(result);
      setSending(false);
    } finally {
      running.current = false;
    }
  };
  return { isSending, failure, send };
}
