/** How far an action is. Without a maximum, only that it goes on. */
export function Progress({
  count,
  max,
  text,
}: {
  readonly count: number;
  readonly max?: number;
  readonly text: string;
}) {
  return (
    <p class="progress" role="status">
      <progress aria-label={text} {...(max === undefined ? {} : { max, value: Math.min(count, max) })} />{' '}
      {text}
    </p>
  );
}
