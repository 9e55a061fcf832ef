import { notify } from './notices.tsx';

/** Copies a text, and says whether that worked. Browsers offer the clipboard only over HTTPS and on localhost. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify('Copied');
  } catch {
    notify('The browser did not allow copying. Select the text and copy it.');
  }
}
