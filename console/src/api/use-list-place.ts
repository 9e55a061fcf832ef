import { useEffect, useMemo } from 'preact/hooks';

/** The content and the scroll position of an entry of the browser's history when it was left. */
interface Place {
  readonly value: unknown;
  readonly scrollY: number;
}

/** Enough to go back through an afternoon's work. The oldest is forgotten first. */
const placesMax = 50;
const places = new Map<string, Place>();

/**
 * Remembers what a list shows, so that the back button shows it at once and at the same place, while it is loaded
 * again. Each entry of the history has its own id, because the same list can be in it several times. Returns what the
 * entry showed before; undefined for a new entry, and after a reload of the tab.
 */
export function useListPlace<T>(url: string, value: T | undefined): T | undefined {
  const id = useMemo(entryId, [url]);
  const place = useMemo(() => places.get(id), [id]);
  const shown = useMemo<{ value?: T }>(() => ({}), [id]);
  // When the address changes, the page may be rendered once more before it is removed, without a value.
  if (value !== undefined) shown.value = value;
  useEffect(() => {
    // Runs after the heading got the focus, which scrolls to it.
    if (place !== undefined) scrollTo(0, place.scrollY);
    let { scrollY } = window;
    const listen = () => {
      // The next page is scrolled to its top before this one goes.
      if (storedId() === id) ({ scrollY } = window);
    };
    addEventListener('scroll', listen, { passive: true });
    return () => {
      removeEventListener('scroll', listen);
      remember(id, { value: shown.value, scrollY });
    };
  }, [id]);
  // Only this list stores values under the ids of its entries.
  return place?.value as T | undefined;
}

function storedId(): string | undefined {
  const state: unknown = history.state;
  return typeof state === 'object' && state !== null && 'list' in state ? String(state.list) : undefined;
}

function entryId(): string {
  const stored = storedId();
  if (stored !== undefined) return stored;
  const id = `${Date.now()} ${Math.random()}`;
  history.replaceState({ list: id }, '');
  return id;
}

function remember(id: string, place: Place): void {
  places.delete(id);
  places.set(id, place);
  const [oldest] = places.keys();
  if (places.size > placesMax && oldest !== undefined) places.delete(oldest);
}
