import type { ComponentType } from 'preact';
import { Page } from '../parts/page.tsx';
import type { Scope } from '../session.ts';
import { can } from '../session.ts';

/** A page that needs a scope. Without it the navigation hides the page, but its address can still be opened. */
export function allowed(scope: Scope, title: string, Content: ComponentType): ComponentType {
  return function Allowed() {
    if (can(scope)) return <Content />;
    return (
      <Page title={title}>
        <div class="state" role="alert">
          <strong>Not allowed</strong>
          <p>
            The API key needs the scope <code>{scope}</code>.
          </p>
        </div>
      </Page>
    );
  };
}
