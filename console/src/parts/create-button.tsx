import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { can, type Scope } from '../session.ts';
import type { Closing } from './dialog.tsx';

/** The button of a list that creates an object, with its dialog. */
export function CreateButton({
  label,
  scope = 'write',
  Dialog,
  onCreated,
}: {
  readonly label: string;
  /** What the session needs. Without it there is no button. */
  readonly scope?: Scope;
  readonly Dialog: ComponentType<Closing>;
  readonly onCreated?: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  useCreateCommand(() => setOpen(true));
  const close = (hasActed: boolean) => {
    setOpen(false);
    if (hasActed) onCreated?.();
  };
  if (!can(scope)) return null;
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && <Dialog onClose={close} />}
    </>
  );
}

/**
 * Opens the dialog of a page that creates something, if the address asks for it, as the commands of the search do. The
 * parameter is removed, so that going back or loading the tab again does not open the dialog.
 */
export function useCreateCommand(open: () => void): void {
  const { path, query, route } = useLocation();
  const isAsked = query['create'] === 'true';
  useEffect(() => {
    if (!isAsked) return;
    open();
    route(path, true);
  }, [isAsked]);
}
