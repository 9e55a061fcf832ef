import type { ComponentChildren, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

/** What opens a dialog for an action gives it: called after a success or a cancellation. */
export interface Closing {
  readonly onClose: (hasActed: boolean) => void;
}

/** A modal dialog with a heading. When it goes away, the focus returns to where it was before. */
export function Dialog({
  title,
  className = '',
  isTitleHidden = false,
  isClosedOutside = false,
  onCancel,
  children,
}: {
  readonly title: ComponentChildren;
  readonly className?: string;
  /** Only screen readers get the heading. */
  readonly isTitleHidden?: boolean;
  /** A click beside the dialog cancels it. Not for a dialog with input that would be lost. */
  readonly isClosedOutside?: boolean;
  /** Escape was pressed. The dialog stays open until its owner removes it. */
  readonly onCancel: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useClickOutside(dialog, isClosedOutside ? onCancel : undefined);
  // Before it is shown, so that keys that are pressed at once go to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      // Until it is closed, nothing else can get the focus.
      shown?.close();
      // A page that replaces the opener moves the focus to its own heading.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
      // A browser closes a dialog at the second Escape in a row, whatever the first one did.
      onClose={() => dialog.current?.showModal()}
    >
      <h2 id={titleId} {...(isTitleHidden ? { class: 'visually-hidden' } : {})}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}

/** A click beside a modal dialog has the dialog itself as its target. */
function useClickOutside(
  dialog: RefObject<HTMLDialogElement | null>,
  onClick: (() => void) | undefined,
): void {
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current === null || onClick === undefined) return undefined;
    const listen = ({ target }: MouseEvent) => {
      if (target === current) onClick();
    };
    current.addEventListener('click', listen);
    return () => current.removeEventListener('click', listen);
  }, [dialog, onClick]);
}
