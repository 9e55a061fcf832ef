import type { ComponentChildren } from 'preact';

/** One number: what it is called, how it is defined, and a link to the rows that it counts. */
export function Tile({
  label,
  value,
  definition,
  href,
  isAlarming = false,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly definition: string;
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
      </dd>
    </div>
  );
}
