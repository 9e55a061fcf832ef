import type { SearchResult } from '../../../client/src/index.ts';
import { ResultOption } from './result-option.tsx';
import type { ResultGroup } from './search-result.ts';

/** The id of an option, for the input that points to it. */
export function optionId(id: string, index: number): string {
  return `${id}-option-${index}`;
}

/** The list that the search input controls. It exists even without results. */
export function ResultList({
  id,
  groups,
  active,
  onPoint,
  onChoose,
}: {
  readonly id: string;
  readonly groups: readonly ResultGroup[];
  /** The place of the chosen option among all results. */
  readonly active: number;
  readonly onPoint: (index: number) => void;
  readonly onChoose: (result: SearchResult) => void;
}) {
  const ordered = groups.flatMap(({ results }) => results);
  return (
    <div id={`${id}-list`} role="listbox" aria-label="Results" class="results" hidden={ordered.length === 0}>
      {groups.map(({ title, isMixed, results }) => (
        <fieldset key={title}>
          <legend>{title}</legend>
          {results.map((result) => {
            const index = ordered.indexOf(result);
            return (
              <ResultOption
                key={`${result.objectType} ${result.objectId}`}
                id={optionId(id, index)}
                result={result}
                isTyped={isMixed}
                isActive={index === active}
                onPoint={() => onPoint(index)}
                onChoose={() => onChoose(result)}
              />
            );
          })}
        </fieldset>
      ))}
    </div>
  );
}
