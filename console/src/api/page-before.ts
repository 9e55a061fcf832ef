/** In the session of the tab: addresses of pages, each with that of the page before it. A reload of the tab keeps them. */
const storageName = 'till-pages-before';
/** More pages than a person walks through. The oldest are forgotten first. */
const pagesMax = 100;

type Entries = readonly (readonly [address: string, before: string])[];

/** Remembers from which page of a list another one was opened. */
export function rememberBefore(address: string, before: string): void {
  const others = read().filter(([known]) => known !== address);
  sessionStorage.setItem(storageName, JSON.stringify([...others, [address, before]].slice(-pagesMax)));
}

export function addressBefore(address: string): string | undefined {
  return read().find(([known]) => known === address)?.[1];
}

function read(): Entries {
  // Only `rememberBefore` writes it.
  return JSON.parse(sessionStorage.getItem(storageName) ?? '[]') as Entries;
}
