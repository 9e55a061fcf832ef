import type { ComponentChildren } from 'preact';

/** Names and values of an object. An entry with undefined is left out. */
export function Fields({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="fields">
      {of
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** The caller's own values. */
export function Metadata({ of }: { readonly of: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <span class="quiet">—</span>;
  return (
    <dl class="metadata">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'boolean' ? (value ? 'Yes' : 'No') : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
