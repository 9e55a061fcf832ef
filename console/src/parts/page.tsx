import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface PageProps {
  /** The heading, and the beginning of the tab's title. */
  readonly title: string;
  /** Beside the heading, for example a status. */
  readonly aside?: ComponentChildren;
  /** The buttons of the page. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The frame of every page. A screen reader hears the heading after each navigation, because it gets the focus. */
export function Page({ title, aside, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the page is shown, so that no key that is pressed then goes to where the last page had the focus.
  useLayoutEffect(() => {
    document.title = `${title} · Till`;
  }, [title]);
  useLayoutEffect(() => {
    heading.current?.focus();
  }, []);
  return (
    <>
      <header class="page-header">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {aside}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** A part of a page, with its own heading. */
export function Section({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="section">
      <header class="section-header">
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
