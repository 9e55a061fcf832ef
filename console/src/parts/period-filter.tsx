import { useId } from 'preact/hooks';
import { type Period, periods } from '../format/periods.ts';
import { timeZone } from '../format/time-zone.ts';

type Values = Readonly<Record<string, string>>;

/** The filters that begin and end a range: days, both inclusive, or times, of which the first is inclusive. */
export interface RangeEnds {
  readonly kind: 'day' | 'time';
  readonly from: string;
  readonly to: string;
}

/** What is chosen if the range is no period. */
const other = 'other';

/** One click chooses a month, a quarter or a year of the calendar, in the time zone of the installation. */
export function PeriodFilter({
  filter: { label, ends, otherwise },
  values,
  onChange,
}: {
  readonly filter: { readonly label: string; readonly ends: RangeEnds; readonly otherwise: string };
  readonly values: Values;
  readonly onChange: (changed: Values) => void;
}) {
  const id = useId();
  const choices = periods(timeZone.dayOf(Date.now())).map((period) => ({
    label: period.label,
    values: rangeOf(period, ends),
  }));
  const [from, to] = [values[ends.from] ?? '', values[ends.to] ?? ''];
  const chosen = choices.find((choice) => choice.values[ends.from] === from && choice.values[ends.to] === to);
  const isOther = chosen === undefined && `${from}${to}` !== '';
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={isOther ? other : (chosen?.label ?? '')}
        onChange={({ currentTarget }) => {
          const choice = choices.find((one) => one.label === currentTarget.value);
          onChange(choice?.values ?? { [ends.from]: '', [ends.to]: '' });
        }}
      >
        <option value="">{otherwise}</option>
        {choices.map((choice) => (
          <option key={choice.label}>{choice.label}</option>
        ))}
        {isOther && <option value={other}>Other</option>}
      </select>
    </div>
  );
}

function rangeOf(period: Period, { kind, from, to }: RangeEnds): Values {
  if (kind === 'day') return { [from]: period.from, [to]: period.to };
  const iso = (timeMs: number) => new Date(timeMs).toISOString();
  return { [from]: iso(timeZone.startOf(period.from)), [to]: iso(timeZone.endOf(period.to)) };
}
