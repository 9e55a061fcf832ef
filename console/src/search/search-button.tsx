import { useLayoutEffect, useState } from 'preact/hooks';
import { SearchDialog } from './search-dialog.tsx';

/** Opens the search, as do Ctrl-K (⌘K) and the slash. */
export function SearchButton() {
  const [isOpen, setOpen] = useState(false);
  // Before the button is shown, so that a shortcut that is pressed at once is heard.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!isShortcut(event) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
  return (
    <>
      <button type="button" class="search-button" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.5 10.5 14 14" />
        </svg>
        Search
        <kbd>Ctrl K</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/** In an input a slash is a character. */
function isShortcut({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (key.toLowerCase() === 'k') return ctrlKey || metaKey;
  const isTyping = target instanceof Element && target.closest('input, textarea, select') !== null;
  return key === '/' && !ctrlKey && !metaKey && !isTyping;
}
