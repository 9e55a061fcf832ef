import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

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
  useEffect(() => {
    document.title = `${title} · Till`;
  }, [title]);
  useEffect(() => {
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
