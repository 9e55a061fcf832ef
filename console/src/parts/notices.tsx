import { signal } from '@preact/signals';

const shownMs = 6_000;
const notice = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a short text for a few seconds, and lets screen readers read it. */
export function notify(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = '';
  }, shownMs);
}

export function Notices() {
  return (
    <div class="notices" role="status">
      {notice.value !== '' && <p>{notice.value}</p>}
    </div>
  );
}
