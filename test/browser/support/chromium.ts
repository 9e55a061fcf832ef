import { accessSync, constants } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's package. */
const executablePath = '/usr/bin/chromium';
const installLine = 'apt-get install chromium';

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
];

let launched: Promise<Browser> | undefined;

/** The Chromium of this process. Starting one takes longer than most tests. */
export function browser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath, args });
  return launched;
}

export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
}

/** For a test's options: why it is skipped where there is no Chromium. In CI, tests without it fail. */
export function skipWithoutChromium(): string | false {
  return isInstalled() || process.env['CI'] ? false : `no Chromium on this machine: ${installLine}`;
}

function isInstalled(): boolean {
  try {
    accessSync(executablePath, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
