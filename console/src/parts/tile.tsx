import type { ComponentChildren } from 'preact';

/** One number: what it is called, how it is defined, and a link to the rows that it counts. */
export function Tile({
  label,
  value,
  definition,
  before,
  href,
  isAlarming = false,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly definition: string;
  /** How it compares with the period before. */
  readonly before?: string | undefined;
  readonly href?: string;
  readonly isAlarming?: boolean;
}) {
  return (
    <div class={isAlarming ? 'tile alarming' : 'tile'}>
      <dt>{label}</dt>
      <dd>
        {href === undefined ? (
          <span class="tile-value">{value}</span>
        ) : (
          <a class="tile-value" href={href}>
            {value}
          </a>
        )}
        <p>{definition}</p>
        {before !== undefined && <p class="tile-before">{before}</p>}
      </dd>
    </div>
  );
}
