import { leave } from '../leave.ts';
import { home } from '../links.ts';
import { navigation } from '../navigation.ts';
import { setTheme } from '../parts/theme-button.tsx';
import { can, type Scope } from '../session.ts';

/** Something that the search can do instead of finding an object. */
export interface Command {
  readonly name: string;
  /** Where it leads, or what it does. */
  readonly to: string | (() => void);
}

/** What can be created, and the page that opens the dialog for it. */
const creations: readonly { readonly name: string; readonly page: string; readonly scope: Scope }[] = [
  { name: 'Create a customer', page: 'customers', scope: 'write' },
  { name: 'Create a checkout', page: 'checkouts', scope: 'write' },
  { name: 'Create a subscription', page: 'subscriptions', scope: 'write' },
  { name: 'Create a plan', page: 'plans', scope: 'write' },
  { name: 'Create an event endpoint', page: 'event-endpoints', scope: 'operate' },
  { name: 'Create an API key', page: 'api-keys', scope: 'admin' },
];

/** The commands that the API key of this session allows. */
export function commands(): readonly Command[] {
  return [
    ...navigation().map(({ label, path }) => ({ name: `Go to ${label}`, to: path })),
    ...creations
      .filter(({ scope }) => can(scope))
      .map(({ name, page }) => ({ name, to: `${home}/${page}?create=true` })),
    { name: 'Use light colours', to: () => setTheme('light') },
    { name: 'Use dark colours', to: () => setTheme('dark') },
    { name: 'Use the colours of the system', to: () => setTheme('system') },
    { name: 'Sign out', to: () => leave('here') },
  ];
}

/** The commands whose name has every word of a text, in any order. All of them for an empty text. */
export function findCommands(all: readonly Command[], text: string): readonly Command[] {
  const wanted = text.toLowerCase().split(/\s+/);
  return all.filter(({ name }) => {
    const own = name.toLowerCase();
    return wanted.every((word) => own.includes(word));
  });
}
