import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { liveState } from './api/live.ts';
import { ExportPanel } from './exports/export-panel.tsx';
import { timeZone } from './format/time-zone.ts';
import { leave } from './leave.ts';
import { home } from './links.ts';
import { navigation } from './navigation.ts';
import { Notices } from './parts/notices.tsx';
import { ThemeButton } from './parts/theme-button.tsx';
import { SearchButton } from './search/search-button.tsx';
import { currentKey, isReachable, userName } from './session.ts';

/** What surrounds every page: navigation, who is signed in, and whether changes arrive. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { path } = useLocation();
  const isOpen = useSignal(false);
  // The menu closes when the page changes. Before the page is shown: a user may open the menu again at once.
  useLayoutEffect(() => {
    isOpen.value = false;
  }, [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen.value}
          aria-controls="navigation"
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          Menu
        </button>
        <a class="brand" href={home}>
          <span class="brand-mark" aria-hidden="true" />
          Till
        </a>
        <Mode />
        <SearchButton />
        <div class="top-end">
          <LiveState />
          <ThemeButton />
          <button type="button" onClick={() => leave('here')}>
            Sign out
          </button>
        </div>
      </header>
      <nav id="navigation" class={isOpen.value ? 'side open' : 'side'} aria-label="Main">
        <ul>
          {navigation().map((entry) => (
            <li key={entry.path}>
              <a
                href={entry.path}
                {...(isWithin(path, entry.path) ? { 'aria-current': 'page' as const } : {})}
              >
                {entry.label}
              </a>
            </li>
          ))}
        </ul>
        <SignedInAs />
      </nav>
      <main id="main" tabIndex={-1}>
        {!isReachable.value && (
          <div class="banner" role="status">
            No connection to Till. What you see may be out of date.
          </div>
        )}
        {children}
        <ExportPanel />
      </main>
      <Notices />
    </div>
  );
}

function SignedInAs() {
  const { person } = { person: null, ...currentKey.value };
  return (
    <div class="signed-in">
      <p class="quiet">
        {person === null ? 'Signed in with the API key' : 'Signed in as'} {userName.value}
      </p>
      <button type="button" onClick={() => leave('everywhere')}>
        End all sessions
      </button>
      <p class="quiet">Times in {timeZone.name}</p>
      <p class="quiet">Till {document.documentElement.dataset['version']}</p>
    </div>
  );
}

/** The overview is at the beginning of every other path. */
function isWithin(path: string, entry: string): boolean {
  return path === entry || (entry !== home && path.startsWith(`${entry}/`));
}

function Mode() {
  const mode = currentKey.value?.processor.mode;
  return mode === undefined || mode === 'live' ? null : <span class="mode">{mode}</span>;
}

const liveTexts = { off: 'Paused', connecting: 'Connecting', live: 'Live' } as const;

function LiveState() {
  const state = liveState.value;
  return (
    <span class="live" data-state={state} title="Whether changes appear as they happen">
      {liveTexts[state]}
    </span>
  );
}
