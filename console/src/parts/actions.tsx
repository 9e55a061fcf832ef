import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import type { Closing } from './dialog.tsx';

/** What can be done with the object of a page, in a dialog. */
export interface Action<About> {
  readonly label: string;
  readonly Dialog: ComponentType<About & Closing>;
  readonly isPossible: (about: About) => boolean;
}

/** The buttons of a page. `about` is what its dialogs show. */
export function Actions<About extends object>({
  of,
  about,
  onActed,
}: {
  readonly of: readonly Action<About>[];
  readonly about: About;
  readonly onActed: () => void;
}) {
  const [open, setOpen] = useState<Action<About> | undefined>(undefined);
  const close = (hasActed: boolean) => {
    setOpen(undefined);
    if (hasActed) onActed();
  };
  return (
    <>
      {of
        .filter(({ isPossible }) => isPossible(about))
        .map((action) => (
          <button key={action.label} type="button" onClick={() => setOpen(action)}>
            {action.label}
          </button>
        ))}
      {open !== undefined && <open.Dialog {...about} onClose={close} />}
    </>
  );
}
