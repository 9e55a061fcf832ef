import { searchOptions } from './search-options.js';

/** As many results as fit on a screen. Better words find more than a longer list. */
const resultsMax = 12;
/** Most readers look for a guide or the reference, not for the reason of a decision or an old change. */
const background = /^(decisions\/|project\/)/;

const root = /** @type {HTMLElement} */ (document.getElementById('search'));
const input = /** @type {HTMLInputElement} */ (root.querySelector('input'));
const status = /** @type {HTMLElement} */ (root.querySelector('[role=status]'));
const list = /** @type {HTMLElement} */ (root.querySelector('ol'));

/** @typedef {{ id: string, title: string, heading: string, excerpt: string }} Result */

/** @type {Promise<(words: string) => readonly Result[]> | undefined} */
let loading;

/** Loads the index when someone begins to search, and again after a failure. */
function load() {
  loading ??= readIndex().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function readIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import('./minisearch.js'),
    fetch(new URL('search-index.json', import.meta.url)),
  ]);
  if (!response.ok) throw new Error(`The index cannot be loaded: ${response.status}`);
  const index = MiniSearch.loadJS(await response.json(), searchOptions);
  return (/** @type {string} */ words) =>
    /** @type {Result[]} */ (
      /** @type {unknown} */ (
        index
          .search(words, {
            prefix: true,
            // A short word is one letter away from many others.
            fuzzy: (word) => (word.length > 5 ? 0.2 : false),
            combineWith: 'AND',
            boost: { title: 4, heading: 3 },
            boostDocument: (id) => (background.test(id) ? 0.3 : 1),
          })
          .slice(0, resultsMax)
      )
    );
}

async function show() {
  const words = input.value.trim();
  if (words === '') return render([], '');
  try {
    const results = (await load())(words);
    // Someone may have typed on while the index was loading.
    if (words !== input.value.trim()) return;
    render(results, results.length === 0 ? 'Nothing found' : `${results.length} results`);
  } catch {
    render([], 'The search cannot be loaded');
  }
}

/** @type {(results: readonly Result[], message: string) => void} */
function render(results, message) {
  status.textContent = message;
  list.replaceChildren(...results.map(item));
}

/** @type {(result: Result) => HTMLElement} */
function item({ id, title, heading, excerpt }) {
  const link = document.createElement('a');
  link.href = new URL(id, import.meta.url).href;
  link.append(heading === '' ? title : `${title}: ${heading}`);
  const text = document.createElement('p');
  text.append(excerpt);
  const entry = document.createElement('li');
  entry.append(link, text);
  return entry;
}

root.hidden = false;
input.addEventListener('focus', () => void load().catch(() => {}));
// A result on the same page only moves to its heading.
list.addEventListener('click', () => render([], ''));
input.addEventListener('input', () => void show());
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === 'Escape' && root.contains(document.activeElement)) {
    input.value = '';
    input.focus();
    render([], '');
  }
});
// On a narrow screen the list of pages would hide the content.
const pages = /** @type {HTMLDetailsElement} */ (document.querySelector('nav details'));
const wide = matchMedia('(min-width: 60rem)');
const openOnWide = () => {
  pages.open = wide.matches;
};
wide.addEventListener('change', openOnWide);
openOnWide();
