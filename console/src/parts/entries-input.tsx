import { useId } from 'preact/hooks';
import { words } from '../format/words.ts';
import { type Entry, emptyEntry, type FeatureType, featureTypes } from './entries.ts';

/** Names with values, which can be added and removed. */
export function EntriesInput({
  label,
  noun,
  entries,
  problem,
  hasTypes = false,
  onChange,
}: {
  readonly label: string;
  /** What one entry is called. */
  readonly noun: string;
  readonly entries: readonly Entry[];
  /** What is wrong with the entries. Empty if nothing is. */
  readonly problem: string;
  readonly hasTypes?: boolean;
  readonly onChange: (entries: readonly Entry[]) => void;
}) {
  const id = useId();
  const set = (index: number, change: Partial<Entry>) =>
    onChange(entries.map((entry, at) => (at === index ? { ...entry, ...change } : entry)));
  return (
    <fieldset class="choices entries" aria-describedby={`${id}-problem`}>
      <legend>{label}</legend>
      {entries.map((entry, index) => (
        <Row
          key={index}
          entry={entry}
          label={`${noun} ${index + 1}`}
          hasTypes={hasTypes}
          onChange={(change) => set(index, change)}
          onRemove={() => onChange(entries.filter((_, at) => at !== index))}
        />
      ))}
      <button type="button" onClick={() => onChange([...entries, emptyEntry])}>
        Add {noun.toLowerCase()}
      </button>
      <p id={`${id}-problem`} class="entries-problem" role="status">
        {problem}
      </p>
    </fieldset>
  );
}

function Row({
  entry: { name, value, type },
  label,
  hasTypes,
  onChange,
  onRemove,
}: {
  readonly entry: Entry;
  readonly label: string;
  readonly hasTypes: boolean;
  readonly onChange: (change: Partial<Entry>) => void;
  readonly onRemove: () => void;
}) {
  return (
    <div class={hasTypes ? 'entry typed' : 'entry'}>
      <input
        aria-label={`${label}: name`}
        placeholder="Name"
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      {hasTypes && (
        <select
          aria-label={`${label}: type`}
          value={type}
          onChange={({ currentTarget }) => onChange(withType(currentTarget.value, value))}
        >
          {featureTypes.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </select>
      )}
      {type === 'yes or no' ? (
        <select
          aria-label={`${label}: value`}
          value={value}
          onChange={({ currentTarget }) => onChange({ value: currentTarget.value })}
        >
          <option value="yes">Yes</option>
          <option value="no">No</option>
        </select>
      ) : (
        <input
          aria-label={`${label}: value`}
          placeholder="Value"
          autocomplete="off"
          {...(type === 'number' ? { inputmode: 'numeric' as const } : {})}
          value={value}
          onInput={({ currentTarget }) => onChange({ value: currentTarget.value })}
        />
      )}
      <button type="button" class="remove" aria-label={`Remove ${label.toLowerCase()}`} onClick={onRemove}>
        <span aria-hidden="true">×</span>
      </button>
    </div>
  );
}

function withType(text: string, value: string): Partial<Entry> {
  const type: FeatureType = featureTypes.find((one) => one === text) ?? 'text';
  if (type === 'yes or no') return { type, value: 'yes' };
  return { type, value: value === 'yes' || value === 'no' ? '' : value };
}
