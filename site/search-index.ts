import MiniSearch from 'minisearch';
import { addressOf } from './addresses.ts';
import { searchOptions } from './page/search-options.js';
import type { RenderedPage } from './render-page.ts';

/** As much of a section as a result shows: about two lines. */
const excerptCharacters = 160;

/** The index that the search loads: one document for each section of each page. */
export function indexOf(pages: ReadonlyMap<string, RenderedPage>): string {
  const search = new MiniSearch(searchOptions);
  for (const [path, { title, sections }] of pages)
    for (const [index, { heading, anchor, text }] of sections.entries()) {
      const address = addressOf(path);
      search.add({
        id: index === 0 ? address : `${address}#${anchor}`,
        title,
        heading: index === 0 ? '' : heading,
        text,
        excerpt: excerptOf(text),
      });
    }
  return JSON.stringify(search);
}

/** Whole words. */
function excerptOf(text: string): string {
  if (text.length <= excerptCharacters) return text;
  return `${text.slice(0, excerptCharacters).replace(/\s+\S*$/, '')} …`;
}
