import { home } from '../links.ts';
import { Page } from '../parts/page.tsx';

export function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        There is no page at this address. Go to the <a href={home}>overview</a>.
      </p>
    </Page>
  );
}
