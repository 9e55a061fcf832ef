import type { ComponentChildren } from 'preact';

/** One number: its name, its definition, and a link to exactly the rows that it counts. */
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
  readonly definition: ComponentChildren;
  /** How it compares with the period before. */
  readonly before?: string | undefined;
  /** Left out if no list has exactly these rows. */
  readonly href?: string | undefined;
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
