import type { SearchResult } from '@till/client';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { plural } from '../format/words.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { type Command, commands, findCommands } from './commands.ts';
import { optionId, ResultList } from './result-list.tsx';
import { groupResults, pageOfResult } from './search-result.ts';
import { type SearchState, useSearch } from './use-search.ts';

/** The longest text that the API searches for. */
const textLengthMax = 255;

/**
 * Finds any object, and does what the commands say. The input keeps the focus, and the arrow keys move through the
 * options.
 */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const search = useSearch(text);
  const groups = text.trim() === '' || search.failure !== undefined ? [] : groupResults(search.results);
  const found = groups.flatMap(({ results }) => results);
  const possible = findCommands(commands(), text.trim());
  const ordered = [...found, ...possible];
  const [active, setActive] = useActive(search.results, text);
  const go = (option: SearchResult | Command | undefined) => {
    if (option === undefined) return;
    const to = 'to' in option ? option.to : pageOfResult(option);
    if (to === null) return;
    onClose();
    if (typeof to === 'string') route(to);
    else to();
  };
  const enter = useEnter(
    search,
    () => go(ordered[active]),
    () => go(found.find(({ exact }) => exact) ?? (found.length === 0 ? possible[0] : undefined)),
  );
  const hasOptions = ordered.length > 0;
  return (
    <Dialog title="Search" className="search" isTitleHidden onCancel={onClose} isClosedOutside>
      <input
        role="combobox"
        aria-label="Search by name, e-mail, card, amount, invoice number or id, or type a command"
        aria-autocomplete="list"
        aria-expanded={hasOptions}
        aria-controls={`${id}-list`}
        {...(hasOptions ? { 'aria-activedescendant': optionId(id, active) } : {})}
        placeholder="Name, e-mail, card, amount, invoice number, id, or a command"
        autocomplete="off"
        spellcheck={false}
        maxLength={textLengthMax}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          enter.forget();
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && hasOptions) setActive((active + step + ordered.length) % ordered.length);
          else if (event.key === 'Enter') enter.press();
          else return;
          event.preventDefault();
        }}
      />
      <ResultList
        id={id}
        groups={groups}
        commands={possible}
        active={active}
        onPoint={setActive}
        onChoose={go}
      />
      <State text={text.trim()} search={search} hasCommands={possible.length > 0} />
      <Foot onClose={onClose} />
    </Dialog>
  );
}

function Foot({ onClose }: { readonly onClose: () => void }) {
  return (
    <div class="search-foot">
      <p class="quiet">
        <kbd>↑</kbd> <kbd>↓</kbd> to choose, <kbd>Enter</kbd> to open, <kbd>Esc</kbd> to close
      </p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </div>
  );
}

/** The state of the search, also for screen readers: no results, loading, or a failure. */
function State({
  text,
  search,
  hasCommands,
}: {
  readonly text: string;
  readonly search: SearchState;
  readonly hasCommands: boolean;
}) {
  const { results, isCurrent, failure, retry } = search;
  if (failure !== undefined) return <Failed failure={failure} retry={retry} />;
  if (text === '')
    return (
      <Empty>
        Words of a name or an e-mail in any order, the last four digits of a card, an amount such as 58.00 or
        €58, the number of an invoice, or any id.
      </Empty>
    );
  if (!isCurrent && results.length === 0) return <Loading what="Searching" />;
  return (
    <p role="status" class={results.length === 0 && !hasCommands ? 'state' : 'visually-hidden'}>
      {results.length === 0 ? `Nothing found for “${text}”.` : plural(results.length, 'result')}
    </p>
  );
}

/** The chosen option. New results and another text begin with the first one. */
function useActive(
  results: readonly SearchResult[],
  text: string,
): readonly [number, (index: number) => void] {
  const [chosen, setChosen] = useState({ results, text, index: 0 });
  const isSame = chosen.results === results && chosen.text === text;
  return [isSame ? chosen.index : 0, (index) => setChosen({ results, text, index })];
}

/**
 * Enter opens the chosen result. A user who pastes an id presses it before there are results: what matches exactly is
 * then opened as soon as it is found. If the search fails, there are only commands.
 */
function useEnter(search: SearchState, openActive: () => void, openExact: () => void) {
  const isWaiting = useRef(false);
  const hasEnded = search.isCurrent || search.failure !== undefined;
  useEffect(() => {
    if (!isWaiting.current || !hasEnded) return;
    isWaiting.current = false;
    openExact();
  }, [hasEnded, search.results]);
  return {
    press: () => {
      if (hasEnded) openActive();
      else isWaiting.current = true;
    },
    forget: () => {
      isWaiting.current = false;
    },
  };
}
