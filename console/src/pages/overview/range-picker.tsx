import { useEffect, useId, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { type DayRange, lastDays } from './range.ts';

const choices = [7, 30, 90, 365] as const;

/**
 * The days that the numbers are about, in the page's address. Typed days count when they are submitted: a day that is
 * typed with the keyboard is another day until its last digit.
 */
export function RangePicker({ range }: { readonly range: DayRange }) {
  const { path, route } = useLocation();
  const id = useId();
  const [typed, setTyped] = useState(range);
  useEffect(() => setTyped(range), [range.from, range.to]);
  const now = new Date();
  const at = ({ from, to }: DayRange) => `${path}?${new URLSearchParams({ from, to })}`;
  return (
    <form
      class="filters"
      aria-label="Days"
      onSubmit={(event) => {
        event.preventDefault();
        route(at(typed));
      }}
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
          <input
            id={`${id}-${end}`}
            type="date"
            required
            value={typed[end]}
            onInput={({ currentTarget: { value } }) => {
              // Empty while a part is missing: what is typed so far must stay.
              if (value !== '') setTyped({ ...typed, [end]: value });
            }}
          />
        </div>
      ))}
      <button type="submit">Show</button>
    </form>
  );
}
