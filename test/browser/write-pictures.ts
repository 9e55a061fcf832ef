import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createLifetime } from '../support/backend.ts';
import { globalSetup, globalTeardown } from '../support/global-setup.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { openConsole, startConsole, type TabOptions } from './support/browser-test.ts';
import { closeBrowser } from './support/chromium.ts';
import { createDemo } from './support/demo.ts';
import { pages, waitForPage } from './support/pages.ts';
import { reduceColours } from './support/reduce-colours.ts';
import type { World } from './support/world.ts';

/** What a reader sees without scrolling. Taller pictures would be larger files and show nothing new. */
const variants: Readonly<Record<string, TabOptions>> = {
  light: { viewport: { width: 1_200, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1_200, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 780 }, colorScheme: 'light' },
};
const folder = join(projectFolder, 'docs/pictures');

/** Writes pictures of every page of the console to docs/pictures. */
const life = createLifetime();
await globalSetup();
try {
  const till = await startConsole(life);
  const world = await createDemo(till);
  await mkdir(folder, { recursive: true });
  // Of pages that no longer exist. The folder has other pictures too.
  for (const name of await readdir(folder)) if (name.endsWith('.png')) await rm(join(folder, name));
  for (const [variant, options] of Object.entries(variants)) {
    const { page, open, close } = await openConsole(till, options);
    await open('/console/start');
    await writePictures(page, world, variant);
    await close();
  }
} finally {
  await closeBrowser();
  await life.end();
  await globalTeardown();
}

async function writePictures(page: Page, world: World, variant: string): Promise<void> {
  for (const target of pages) {
    await page.goto(new URL(target.path(world), page.url()).href);
    await waitForPage(page, target);
    await page.getByText('Live', { exact: true }).waitFor();
    const picture = reduceColours(await page.screenshot({ animations: 'disabled', caret: 'hide' }));
    await writeFile(join(folder, `${target.name.replaceAll(' ', '-')}-${variant}.png`), picture);
  }
}
