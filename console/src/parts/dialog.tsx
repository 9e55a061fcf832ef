import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** A modal dialog with a heading. When it goes away, the focus returns to where it was before. */
export function Dialog({
  title,
  className = '',
  onCancel,
  children,
}: {
  readonly title: ComponentChildren;
  readonly className?: string;
  /** Escape was pressed. The dialog stays open until its owner removes it. */
  readonly onCancel: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
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
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
