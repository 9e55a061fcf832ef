import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { dashboardLink } from '../dashboard.ts';
import { exactTime, localDay, localTime } from '../format/local-time.ts';
import { money } from '../format/money.ts';
import { relativeTime } from '../format/relative-time.ts';
import { pageOf } from '../links.ts';
import { copyText } from './copy-text.ts';

export const none = <span class="quiet">—</span>;

export function Money({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  return <span class="number">{money(amount, currency)}</span>;
}

/** Relative times move on by themselves. The smallest unit is a minute. */
const tickMs = 30_000;
const ticks = signal(0);
setInterval(() => {
  ticks.value += 1;
}, tickMs);

function relativeNow(value: string): string | undefined {
  // Reading it renders the time again at the next tick.
  void ticks.value;
  return relativeTime(value, Date.now());
}

/**
 * A time in the time zone of the installation, relative if it is near: `3 hours ago`. The exact one is in the title,
 * and is what screen readers read. Within a sentence or a range that needs a date, it is exact.
 */
export function Time({
  value,
  dayOnly = false,
  isExact = false,
}: {
  readonly value: string | null;
  readonly dayOnly?: boolean;
  readonly isExact?: boolean;
}) {
  if (value === null) return none;
  const relative = dayOnly || isExact ? undefined : relativeNow(value);
  return (
    <time dateTime={value} title={`${exactTime(value)}\n${value}`}>
      {relative === undefined ? (
        (dayOnly ? localDay : localTime)(value)
      ) : (
        <>
          <span aria-hidden="true">{relative}</span>
          <span class="visually-hidden">{localTime(value)}</span>
        </>
      )}
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

/** A link to the page of an object. Undefined if there is none, so that its field is left out. */
export function linkTo(type: Parameters<typeof pageOf>[0], id: string | null, text = id) {
  return id === null ? undefined : <a href={pageOf(type, id)}>{text}</a>;
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
