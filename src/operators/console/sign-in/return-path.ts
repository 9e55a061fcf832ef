const home = '/console';
/** No page of the console has a longer address, and the cookie of a sign-in must stay small. */
const lengthMax = 1_000;
/** Paths below the console that are not pages. */
const notPages = /^\/console\/(api|assets|session|sessions|sign-in)(\/|$)/;
const ownOrigin = 'http://console.invalid';

/**
 * Where a person continues after the sign-in: the page of the console that they asked for, or its first page. No text
 * leads to another site.
 */
export function returnPath(to: unknown): string {
  if (typeof to !== 'string' || to.length > lengthMax || !/^\/console([/?]|$)/.test(to)) return home;
  // Browsers read a backslash as a slash, and skip control characters.
  if (/[\\\p{Cc}]/u.test(to)) return home;
  // Parsing resolves dot segments, including encoded ones.
  const url = URL.parse(to, ownOrigin);
  if (url === null || url.origin !== ownOrigin || !/^\/console(\/|$)/.test(url.pathname)) return home;
  return notPages.test(url.pathname) || /\/\/|%2f|%5c/i.test(url.pathname) ? home : url.pathname + url.search;
}
