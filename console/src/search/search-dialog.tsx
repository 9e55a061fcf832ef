import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { SearchResult } from '../../../client/src/index.ts';
import { plural } from '../format/words.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { optionId, ResultList } from './result-list.tsx';
import { groupResults, pageOfResult } from './search-result.ts';
import { type SearchState, useSearch } from './use-search.ts';

/** The longest text that the API searches for. */
const textLengthMax = 255;

/** Finds any object. The input keeps the focus, and the arrow keys move through the results. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const search = useSearch(text);
  const groups = groupResults(search.results);
  const ordered = groups.flatMap(({ results }) => results);
  const [active, setActive] = useActive(search.results);
  const go = (result: SearchResult | undefined) => {
    const page = result === undefined ? null : pageOfResult(result);
    if (page === null) return;
    onClose();
    route(page);
  };
  const enter = useEnter(
    search,
    () => go(ordered[active]),
    () => go(ordered.find(({ exact }) => exact)),
  );
  const hasOptions = ordered.length > 0 && search.failure === undefined && text.trim() !== '';
  return (
    <Dialog title="Search" className="search" isTitleHidden onCancel={onClose} isClosedOutside>
      <input
        role="combobox"
        aria-label="Search by id, e-mail or invoice number"
        aria-autocomplete="list"
        aria-expanded={hasOptions}
        aria-controls={`${id}-list`}
        {...(hasOptions ? { 'aria-activedescendant': optionId(id, active) } : {})}
        placeholder="Id, external id, e-mail, invoice number"
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
        groups={hasOptions ? groups : []}
        active={active}
        onPoint={setActive}
        onChoose={go}
      />
      <State text={text.trim()} search={search} />
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
function State({ text, search }: { readonly text: string; readonly search: SearchState }) {
  const { results, isCurrent, failure, retry } = search;
  if (failure !== undefined) return <Failed failure={failure} retry={retry} />;
  if (text === '')
    return (
      <Empty>
        Any id of Till or of the processor, an external id, or the beginning of an e-mail address or of the
        number of an invoice.
      </Empty>
    );
  if (!isCurrent && results.length === 0) return <Loading what="Searching" />;
  return (
    <p role="status" class={results.length === 0 ? 'state' : 'visually-hidden'}>
      {results.length === 0 ? `Nothing found for “${text}”.` : plural(results.length, 'result')}
    </p>
  );
}

/** The chosen option. New results begin with the first one. */
function useActive(results: readonly SearchResult[]): readonly [number, (index: number) => void] {
  const [chosen, setChosen] = useState({ results, index: 0 });
  return [chosen.results === results ? chosen.index : 0, (index) => setChosen({ results, index })];
}

/**
 * Enter opens the chosen result. A user who pastes an id presses it before there are results: what matches exactly is
 * then opened as soon as it is found.
 */
function useEnter(search: SearchState, openActive: () => void, openExact: () => void) {
  const isWaiting = useRef(false);
  useEffect(() => {
    if (!isWaiting.current || !search.isCurrent) return;
    isWaiting.current = false;
    openExact();
  }, [search.isCurrent, search.results]);
  return {
    press: () => {
      if (search.isCurrent) openActive();
      else isWaiting.current = true;
    },
    forget: () => {
      isWaiting.current = false;
    },
  };
}
