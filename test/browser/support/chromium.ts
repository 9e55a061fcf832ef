import { type Browser, chromium } from 'playwright-core';
import { findProgram, skipWithout } from '../../support/require-program.ts';

/** Debian's packages have these names too. The first takes two thirds of the CPU time of the second. */
const programs = ['chromium-headless-shell', 'chromium'] as const;

/**
 * Parts of Chromium that tests do without. Chromium takes only the last list that it is given, so this one repeats what
 * playwright-core turns off: what asks other hosts, and what makes a step depend on the time.
 */
const unusedFeatures = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  // The suggestions below the address are web pages of their own. Loading them for every tab takes longer than a test.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  // A process in reserve for every tab.
  'SpareRendererForSitePerProcess',
];

/** Tests run as root in containers, without a GPU, and must ask no other host for anything. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${unusedFeatures.join(',')}`,
];

let launched: Promise<Browser> | undefined;

/** How Chromium starts in tests. */
export function launchOptions(moreArgs: readonly string[] = []) {
  return { executablePath: findProgram(...programs) ?? programs[0], args: [...args, ...moreArgs] };
}

/** The Chromium of this process. Starting one takes longer than most tests. The first call chooses more arguments. */
export function browser(moreArgs: readonly string[] = []): Promise<Browser> {
  launched ??= chromium.launch(launchOptions(moreArgs));
  return launched;
}

export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
}

/** For a test's options: why it is skipped where there is no Chromium. */
export function skipWithoutChromium(): string | false {
  const install = `apt-get install ${programs[0]}`;
  return skipWithout(findProgram(...programs) !== undefined, { what: 'chromium', install });
}
