import type { SearchResult } from '@till/client';
import type { Command } from './commands.ts';
import { CommandOption, ResultOption } from './result-option.tsx';
import type { ResultGroup } from './search-result.ts';

/** The id of an option, for the input that points to it. */
export function optionId(id: string, index: number): string {
  return `${id}-option-${index}`;
}

/** The list that the search input controls: what was found, then what can be done. It exists even without options. */
export function ResultList({
  id,
  groups,
  commands,
  active,
  onPoint,
  onChoose,
}: {
  readonly id: string;
  readonly groups: readonly ResultGroup[];
  readonly commands: readonly Command[];
  /** The place of the chosen option among all of them. */
  readonly active: number;
  readonly onPoint: (index: number) => void;
  readonly onChoose: (option: SearchResult | Command) => void;
}) {
  const ordered = groups.flatMap(({ results }) => results);
  const shared = (option: SearchResult | Command, index: number) => ({
    id: optionId(id, index),
    isActive: index === active,
    onPoint: () => onPoint(index),
    onChoose: () => onChoose(option),
  });
  return (
    <div
      id={`${id}-list`}
      role="listbox"
      aria-label="Results"
      class="results"
      hidden={ordered.length + commands.length === 0}
    >
      {groups.map(({ title, isMixed, results }) => (
        <fieldset key={title}>
          <legend>{title}</legend>
          {results.map((result) => (
            <ResultOption
              key={`${result.objectType} ${result.objectId}`}
              result={result}
              isTyped={isMixed}
              {...shared(result, ordered.indexOf(result))}
            />
          ))}
        </fieldset>
      ))}
      {commands.length > 0 && (
        <fieldset key="commands">
          <legend>Commands</legend>
          {commands.map((command, index) => (
            <CommandOption
              key={command.name}
              command={command}
              {...shared(command, ordered.length + index)}
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
