/** As often as the server records a use of the session. */
const presentMs = 60_000;
const inputs = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart'] as const;

/** Opening the page is an input. */
let lastInputMs = Date.now();

/** Notices that a person is there. */
export function watchInputs(): () => void {
  const listen = () => {
    lastInputMs = Date.now();
  };
  for (const name of inputs) addEventListener(name, listen, { passive: true, capture: true });
  return () => {
    for (const name of inputs) removeEventListener(name, listen, { capture: true });
  };
}

/**
 * The headers of a request. Pages load again by themselves after changes, and would keep the session of an absent
 * person alive. So a request without recent input is marked as a background request.
 */
export function withBackground(headers: HeadersInit | undefined): Headers {
  const all = new Headers(headers);
  if (Date.now() - lastInputMs > presentMs) all.set('x-till-background', '1');
  return all;
}
