import type { ComponentChildren } from 'preact';
import { dashboardLink } from '../dashboard.ts';
import { localDay, localTime } from '../format/local-time.ts';
import { money } from '../format/money.ts';
import { copyText } from './copy-text.ts';

export const none = <span class="quiet">—</span>;

export function Money({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  return <span class="number">{money(amount, currency)}</span>;
}

/** A time in the reader's time zone. Its title has the exact time. */
export function Time({
  value,
  dayOnly = false,
}: {
  readonly value: string | null;
  readonly dayOnly?: boolean;
}) {
  if (value === null) return none;
  return (
    <time dateTime={value} title={value}>
      {dayOnly ? localDay(value) : localTime(value)}
    </time>
  );
}

/** An id, with a button that copies it. */
export function Id({ value }: { readonly value: string | null }) {
  if (value === null) return none;
  return (
    <span class="id">
      <code>{value}</code>
      <button
        type="button"
        class="copy"
        aria-label={`Copy ${value}`}
        title="Copy"
        onClick={() => copyText(value)}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M5 5V2.5h8.5V11H11M2.5 5H11v8.5H2.5z" />
        </svg>
      </button>
    </span>
  );
}

/** The end of an id, which is enough to tell rows apart. */
export function ShortId({ value }: { readonly value: string }) {
  return <code title={value}>…{value.slice(-8)}</code>;
}

/** The processor's id of an object, and where its dashboard shows it. */
export function AtProcessor({
  section,
  id,
}: {
  readonly section: Parameters<typeof dashboardLink>[0];
  readonly id: string;
}) {
  return (
    <>
      <Id value={id} /> <OutsideLink href={dashboardLink(section, id)}>Dashboard</OutsideLink>
    </>
  );
}

/** A link to another site opens in a tab of its own, which gets no reference to this one. */
export function OutsideLink({
  href,
  children,
}: {
  readonly href: string | null;
  readonly children: ComponentChildren;
}) {
  if (href === null) return null;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children} <span aria-hidden="true">↗</span>
    </a>
  );
}
