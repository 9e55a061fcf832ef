import type { TargetedEvent } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

type DraftInputProps = {
  readonly id: string;
  readonly value: string;
  readonly name?: string;
  readonly required?: boolean;
  readonly onChange?: (event: TargetedEvent<HTMLInputElement>) => void;
} & ({ readonly type?: 'text' } | { readonly type: 'date' | 'datetime-local' });

/**
 * An input that keeps what is typed until it gets another value. A render with the same value does not touch it,
 * because a live update must not change a field while a user types.
 */
export function DraftInput({ value, ...attributes }: DraftInputProps) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (input.current !== null) input.current.value = value;
  }, [value]);
  return <input ref={input} {...attributes} />;
}
