/**
 * Shows the bank's page in a frame, and says when the cardholder has answered. The bank's page has no script.
 * @param {string} path
 * @param {(message: object) => void} send
 */
export function showBank(path, send) {
  const bank = document.createElement('iframe');
  bank.name = 'stripe-challenge-frame';
  bank.id = 'challengeFrame';
  bank.title = 'The bank of the cardholder';
  bank.className = 'bank';
  const url = new URL(path, location.origin);
  if (url.origin !== location.origin || !url.pathname.includes('/sandbox/authenticate/')) return;
  url.searchParams.set('framed', 'true');
  bank.src = url.href;
  bank.addEventListener('load', () => {
    // After the answer, the page has no question any more.
    if (bank.contentDocument?.querySelector('form') === null) send({ type: 'done' });
    else bank.contentDocument?.querySelector('button')?.focus();
  });
  document.body.append(bank);
}
