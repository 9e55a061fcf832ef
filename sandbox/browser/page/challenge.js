import { FrameLink, setStyle } from './frame-link.js';

/**
 * Shows the page of the cardholder's bank above the page, until the cardholder has answered.
 * @param {string} url
 * @returns {Promise<void>}
 */
export function challenge(url) {
  const overlay = document.createElement('div');
  overlay.setAttribute('role', 'dialog');
  overlay.setAttribute('aria-modal', 'true');
  overlay.setAttribute('aria-label', 'Authentication by your bank');
  setStyle(overlay, {
    position: 'fixed',
    inset: '0',
    'z-index': '2147483647',
    background: 'rgb(0 0 0 / 60%)',
  });
  const before = document.activeElement;
  const behind = [...document.body.children].filter((child) => !child.hasAttribute('inert'));
  const { pathname, search } = new URL(url);
  return new Promise((resolve) => {
    const close = () => {
      link.remove();
      overlay.remove();
      for (const child of behind) child.removeAttribute('inert');
      if (before instanceof HTMLElement) before.focus();
      resolve();
    };
    const link = new FrameLink({
      file: 'three-ds-2-challenge',
      title: 'Secure 3D Secure frame',
      // The page is where the library is, even if the API gives its address another name.
      parameters: { bank: pathname + search },
      onMessage: ({ type }) => {
        if (type === 'started') link.frame.focus();
        if (type === 'done') close();
      },
      onFail: close,
    });
    const size = { width: 'min(100%, 500px)', height: 'min(100%, 520px)' };
    setStyle(link.frame, { position: 'absolute', inset: '0', margin: 'auto', ...size });
    for (const child of behind) child.setAttribute('inert', '');
    // First in the page, where tests look for it.
    document.body.prepend(overlay);
    link.addTo(overlay);
  });
}
