import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** More than any page has, so that a search without an end fails. */
const pressesMax = 80;

/** The label or the text of what has the focus. */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()',
  );
}

/** Presses a key until the focus is on what has this label or text. */
export async function moveTo(page: Page, text: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const seen: string[] = [];
  for (let press = 0; press < pressesMax; press += 1) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (now === text) return;
    seen.push(now);
  }
  assert.fail(`the focus never reaches ${text}: ${seen.join(', ')}`);
}
