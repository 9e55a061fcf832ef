import { lexer, type Token, type Tokens } from 'marked';
import { startPage, targetOf } from './addresses.ts';

interface NavigationGroup {
  readonly name: string;
  readonly pages: readonly { readonly name: string; readonly path: string }[];
}

/** The groups of pages that the start page lists: its headings, and the first link of each item below. */
export function readNavigation(startMarkdown: string): readonly NavigationGroup[] {
  const groups: NavigationGroup[] = [];
  for (const token of lexer(startMarkdown)) {
    if (isHeading(token) && token.depth === 2) groups.push({ name: token.text, pages: [] });
    const group = groups.at(-1);
    if (!isList(token) || group === undefined) continue;
    const pages = token.items.flatMap(({ tokens }) => linksOf(tokens).slice(0, 1));
    groups[groups.length - 1] = { ...group, pages: [...group.pages, ...pages] };
  }
  return groups.filter(({ pages }) => pages.length > 0);
}

function linksOf(tokens: readonly Token[]): NavigationGroup['pages'] {
  return tokens.flatMap((token) => {
    if (!isLink(token)) return 'tokens' in token && token.tokens !== undefined ? linksOf(token.tokens) : [];
    const path = targetOf(startPage, token.href)?.path;
    return path?.endsWith('.md') ? [{ name: token.text, path }] : [];
  });
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading';
}

function isList(token: Token): token is Tokens.List {
  return token.type === 'list';
}

function isLink(token: Token): token is Tokens.Link {
  return token.type === 'link';
}
