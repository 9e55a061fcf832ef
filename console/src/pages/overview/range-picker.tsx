import { useId, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DayRange } from '../../format/periods.ts';
import { timeZone } from '../../format/time-zone.ts';
import { DraftInput } from '../../parts/draft-input.tsx';
import { type Interval, intervals, presets } from './range.ts';

/**
 * The days that the numbers are about, in the page's address. Typed days apply when they are submitted: until its last
 * digit, a typed day is another day.
 */
export function RangePicker({
  range,
  interval,
  zoneName,
}: {
  readonly range: DayRange;
  readonly interval: Interval;
  readonly zoneName: string;
}) {
  const { path, query, route } = useLocation();
  const id = useId();
  const shown = useShownRange(range, `${query['from']} ${query['to']}`);
  const at = ({ from, to }: DayRange, chosen = query['interval']) =>
    `${path}?${new URLSearchParams({ from, to, ...(chosen ? { interval: chosen } : {}) })}`;
  const current = (is: boolean) => (is ? { 'aria-current': 'true' as const } : {});
  return (
    <form
      class="filters"
      aria-label="Days"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        route(at({ from: String(typed.get('from')), to: String(typed.get('to')) }));
      }}
      onInput={shown.keep}
    >
      <ul class="choices" aria-label="Ranges">
        {presets(timeZone.dayOf(Date.now())).map(({ label, ...days }) => (
          <li key={label}>
            <a href={at(days)} {...current(days.from === range.from && days.to === range.to)}>
              {label}
            </a>
          </li>
        ))}
      </ul>
      <ul class="choices" aria-label="Intervals">
        {intervals.map((one) => (
          <li key={one}>
            <a href={at(range, one)} {...current(one === interval)}>
              By {one}
            </a>
          </li>
        ))}
      </ul>
      {(['from', 'to'] as const).map((end) => (
        <div key={end} class="field">
          <label for={`${id}-${end}`}>{`${end === 'from' ? 'From' : 'To'} (${zoneName})`}</label>
          <DraftInput id={`${id}-${end}`} name={end} type="date" required value={shown.range[end]} />
        </div>
      ))}
      <button type="submit">Show</button>
    </form>
  );
}

/**
 * The range in the fields. Without days in the address it changes at midnight, but not while a user types: after the
 * first input it stays until the address changes.
 */
function useShownRange(range: DayRange, address: string) {
  const shown = useRef({ range, address, isTyped: false });
  if (!shown.current.isTyped || shown.current.address !== address)
    shown.current = { range, address, isTyped: false };
  const keep = () => {
    shown.current.isTyped = true;
  };
  return { range: shown.current.range, keep };
}
