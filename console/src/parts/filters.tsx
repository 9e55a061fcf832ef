import { useId, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useResource } from '../api/use-resource.ts';
import { toInstant, toLocal, withZone } from '../format/time-zone.ts';
import { words } from '../format/words.ts';
import { pageOf } from '../links.ts';
import { till } from '../session.ts';
import { DraftInput } from './draft-input.tsx';
import { PeriodFilter, type RangeEnds } from './period-filter.tsx';

/** A filter of a list. Its name is the parameter of the API and of the page's address. */
export type Filter =
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly label: string;
      readonly options: readonly string[];
      /** The options as people read them. By default the words of each. */
      readonly textOf?: (option: string) => string;
      /** What the list shows without a choice. */
      readonly otherwise?: string;
    }
  /** On or off: `true`, or not sent. */
  | { readonly kind: 'flag'; readonly name: string; readonly label: string }
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly label: string;
      /** The API knows the values only in lower case. */
      readonly isLowerCase?: true;
    }
  | { readonly kind: 'time' | 'day'; readonly name: string; readonly label: string }
  /** Sets the filters that begin and end a range to a month, a quarter or a year. Has no value of its own. */
  | {
      readonly kind: 'period';
      readonly name: string;
      readonly label: string;
      readonly ends: RangeEnds;
      /** What the list shows without a range. */
      readonly otherwise: string;
    }
  /** Set by a link from the page of an object, and can only be removed. Its value is the id of the object. */
  | {
      readonly kind: 'object';
      readonly name: string;
      readonly label: string;
      readonly type: Parameters<typeof pageOf>[0];
    };

export const createdFilters: readonly Filter[] = [
  {
    kind: 'period',
    name: 'created',
    label: 'Created',
    ends: { kind: 'time', from: 'createdAfter', to: 'createdBefore' },
    otherwise: 'Any time',
  },
  { kind: 'time', name: 'createdAfter', label: 'Created from' },
  { kind: 'time', name: 'createdBefore', label: 'Created before' },
];

/** What lists of all customers ask the API for, to show who each row belongs to. */
export const includeCustomer = { include: 'customer' } as const;

export const currencyFilter: Filter = {
  kind: 'text',
  name: 'currency',
  label: 'Currency',
  isLowerCase: true,
};

export const customerFilter: Filter = {
  kind: 'object',
  name: 'customerId',
  label: 'Customer',
  type: 'customer',
};

export const subscriptionFilter: Filter = {
  kind: 'object',
  name: 'subscriptionId',
  label: 'Subscription',
  type: 'subscription',
};

export const invoiceFilter: Filter = {
  kind: 'object',
  name: 'invoiceId',
  label: 'Invoice',
  type: 'invoice',
};

/** A choice whose options have texts of their own. */
export function choiceFilter(
  name: string,
  label: string,
  texts: Readonly<Record<string, string>>,
  otherwise = 'Any',
): Filter {
  const textOf = (option: string) => texts[option] ?? '';
  return { kind: 'choice', name, label, options: Object.keys(texts), textOf, otherwise };
}

/** The values of the filters in an address. Other parameters are ignored. */
export function filterValues(
  filters: readonly Filter[],
  query: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = filters.flatMap(({ kind, name }) => {
    const value = kind === 'period' ? undefined : query[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * The filters of a list. Each change is a new address, so that a list can be linked to and the back button works. The
 * order stays.
 */
export function Filters({ filters, hint }: { readonly filters: readonly Filter[]; readonly hint?: string }) {
  const { path, query, route } = useLocation();
  const values = filterValues(filters, query);
  const order = query['sort'] === undefined ? {} : { sort: query['sort'] };
  const change = (changed: Readonly<Record<string, string>>) => {
    const chosen = Object.entries({ ...values, ...changed }).filter(([, value]) => value !== '');
    const text = new URLSearchParams({ ...Object.fromEntries(chosen), ...order }).toString();
    route(text === '' ? path : `${path}?${text}`);
  };
  const count = Object.keys(values).length;
  const [isOpen, setOpen] = useState(false);
  return (
    <form
      class={isOpen ? 'filters open' : 'filters'}
      aria-label="Filters"
      onSubmit={(event) => event.preventDefault()}
    >
      {/* Only on phones, where the filters would hide the rows. */}
      <button type="button" class="filters-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {count === 0 ? 'Filters' : `Filters (${count})`}
      </button>
      {filters.map((filter) => {
        const value = values[filter.name] ?? '';
        const set = (next: string) => change({ [filter.name]: next });
        if (filter.kind === 'period')
          return <PeriodFilter key={filter.name} filter={filter} values={values} onChange={change} />;
        if (filter.kind !== 'object')
          return <FilterInput key={filter.name} filter={filter} value={value} onChange={set} />;
        return value === '' ? null : (
          <ObjectFilter key={filter.name} filter={filter} value={value} onRemove={() => set('')} />
        );
      })}
      {Object.keys(values).length > 0 && (
        <a class="clear" href={path}>
          Clear filters
        </a>
      )}
      {hint !== undefined && (
        <p class="hint" role="status">
          {hint}
        </p>
      )}
    </form>
  );
}

function ObjectFilter({
  filter: { label, type },
  value,
  onRemove,
}: {
  readonly filter: Filter & { readonly kind: 'object' };
  readonly value: string;
  readonly onRemove: () => void;
}) {
  return (
    <p class="object-filter">
      {label}{' '}
      <a href={pageOf(type, value)}>{type === 'customer' ? <Who id={value} /> : <code>{value}</code>}</a>
      <button type="button" aria-label={`Remove the filter ${label}`} title="Remove" onClick={onRemove}>
        <span aria-hidden="true">×</span>
      </button>
    </p>
  );
}

/** The name or the e-mail of a customer, once it is known. */
function Who({ id }: { readonly id: string }) {
  const { value } = useResource((options) => till().customers.get(id, options), [id]);
  return value === undefined ? <code>{id}</code> : (value.name ?? value.email);
}

function FilterInput({
  filter,
  value,
  onChange,
}: {
  readonly filter: Exclude<Filter, { readonly kind: 'object' | 'period' }>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class={filter.kind === 'flag' ? 'field flag' : 'field'}>
      <label for={id}>
        {filter.kind === 'day' || filter.kind === 'time' ? withZone(filter.label) : filter.label}
      </label>
      {filter.kind === 'choice' && (
        <select
          id={id}
          // An option that the list does not have chooses nothing.
          value={filter.options.includes(value) ? value : ''}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          <option value="">{filter.otherwise ?? 'All'}</option>
          {filter.options.map((option) => (
            <option key={option} value={option}>
              {(filter.textOf ?? words)(option)}
            </option>
          ))}
        </select>
      )}
      {filter.kind === 'flag' && (
        <input
          id={id}
          type="checkbox"
          checked={value === 'true'}
          onChange={({ currentTarget }) => onChange(currentTarget.checked ? 'true' : '')}
        />
      )}
      {filter.kind === 'text' && (
        <DraftInput
          id={id}
          value={value}
          onChange={({ currentTarget }) => {
            const text = currentTarget.value.trim();
            onChange(filter.isLowerCase === true ? text.toLowerCase() : text);
          }}
        />
      )}
      {filter.kind === 'day' && (
        <DraftInput
          id={id}
          type="date"
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
      {filter.kind === 'time' && (
        <DraftInput
          id={id}
          type="datetime-local"
          value={toLocal(value)}
          onChange={({ currentTarget }) => onChange(toInstant(currentTarget.value))}
        />
      )}
    </div>
  );
}
