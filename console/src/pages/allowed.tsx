import type { ComponentType } from 'preact';
import { Page } from '../parts/page.tsx';
import type { Scope } from '../session.ts';
import { can } from '../session.ts';

/** A page that is nothing without a scope. An address can name it though the navigation does not. */
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
