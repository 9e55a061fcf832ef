import type { SearchResult } from '@till/client';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Status } from '../parts/status.tsx';
import { Money, Time } from '../parts/values.tsx';
import type { Command } from './commands.ts';
import { matchText, typeText } from './search-result.ts';

interface OptionProps {
  readonly id: string;
  readonly isActive: boolean;
  readonly onPoint: () => void;
  readonly onChoose: () => void;
}

/** One result: its type, its label and what distinguishes it. */
export function ResultOption({
  result,
  isTyped,
  ...option
}: OptionProps & {
  readonly result: SearchResult;
  /** Whether its type is shown. */
  readonly isTyped: boolean;
}) {
  const { label, description, status, amount, currency, createdAt } = result;
  return (
    <Option {...option}>
      <span class="result-label">
        {isTyped && <span class="result-type">{typeText(result)} </span>}
        <strong>{label}</strong>
        {description !== null && description !== label && <span class="quiet"> {description}</span>}
      </span>
      <span class="result-end">
        {amount !== null && currency !== null && <Money amount={amount} currency={currency} />}
        {status !== null && <Status value={status} />}
      </span>
      <span class="result-why quiet">
        {matchText(result)} · created <Time value={createdAt} dayOnly />
      </span>
    </Option>
  );
}

export function CommandOption({ command, ...option }: OptionProps & { readonly command: Command }) {
  return (
    <Option {...option}>
      <span class="result-label">{command.name}</span>
    </Option>
  );
}

function Option({
  id,
  isActive,
  onPoint,
  onChoose,
  children,
}: OptionProps & { readonly children: ComponentChildren }) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isActive) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isActive]);
  return (
    <div
      ref={option}
      id={id}
      class="result"
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      onMouseMove={onPoint}
      onClick={onChoose}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChoose();
      }}
    >
      {children}
    </div>
  );
}
