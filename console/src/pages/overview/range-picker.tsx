import { useId } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { type DayRange, lastDays } from './range.ts';

const choices = [7, 30, 90, 365] as const;

/** The days that the numbers are about, in the page's address. */
export function RangePicker({ range }: { readonly range: DayRange }) {
  const { path, route } = useLocation();
  const id = useId();
  const now = new Date();
  const at = (days: DayRange) => `${path}?${new URLSearchParams({ ...days })}`;
  return (
    <form class="filters" aria-label="Days" onSubmit={(event) => event.preventDefault()}>
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
          <input
            id={`${id}-${end}`}
            type="date"
            required
            value={range[end]}
            onChange={({ currentTarget: { value } }) => {
              if (value !== '') route(at(moved(range, end, value)));
            }}
          />
        </div>
      ))}
    </form>
  );
}

/** An end that passes the other one takes it along. */
function moved({ from, to }: DayRange, end: 'from' | 'to', day: string): DayRange {
  if (end === 'from') return { from: day, to: day > to ? day : to };
  return { from: day < from ? day : from, to: day };
}
