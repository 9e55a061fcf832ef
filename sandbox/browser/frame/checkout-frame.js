/**
 * Tells the page around a payment page how high it is, and where the buyer goes when the session is complete.
 * @param {(message: object) => void} send
 */
export function reportCheckout(send) {
  const { documentElement: root } = document;
  new ResizeObserver(() => send({ type: 'height', height: root.getBoundingClientRect().height })).observe(
    root,
  );
  const url = document.querySelector('[data-completed]')?.getAttribute('data-completed');
  if (typeof url === 'string') send({ type: 'completed', url });
}
