import { interruptExport } from './exports/exports.ts';
import { notify } from './parts/notices.tsx';
import { signOut } from './session.ts';

/** Signs out, and tells the user if that is not possible now. */
export function leave(from: 'here' | 'everywhere'): void {
  interruptExport();
  signOut(from).catch(() => notify('You are still signed in, because Till does not respond. Try again.'));
}
