import { useId, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { DraftInput } from '../../parts/draft-input.tsx';
import { type DayRange, lastDays } from './range.ts';

const choices = [7, 30, 90, 365] as const;

/**
 * The days that the numbers are about, in the page's address. Typed days apply when they are submitted: until its last
 * digit, a typed day is another day.
 */
export function RangePicker({ range }: { readonly range: DayRange }) {
  const { path, query, route } = useLocation();
  const id = useId();
  const shown = useShownRange(range, `${query['from']} ${query['to']}`);
  const now = new Date();
  const at = ({ from, to }: DayRange) => `${path}?${new URLSearchParams({ from, to })}`;
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
      <ul class="choices">
        {choices.map((count) => {
          const days = lastDays(count, now);
          const isChosen = days.from === range.from && days.to === range.to;
          return (
            <li key={count}>
              <a href={at(days)} {...(isChosen ? { 'aria-current': 'true' as const } : {})}>
                {count} days
              </a>
            </li>
          );
        })}
      </ul>
      {(['from', 'to'] as const).map((end) => (
        <div key={end} class="field">
          <label for={`${id}-${end}`}>{end === 'from' ? 'From (UTC)' : 'To (UTC)'}</label>
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
