import assert from 'node:assert/strict';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

browserTest(
  'the list of payments shows amounts by currency and links to each payment',
  async ({ page, open }) => {
    const { payments } = await sharedWorld();
    await open('/console/payments');
    await page.getByRole('link', { name: '¥5,400' }).click();
    await page.getByRole('heading', { level: 1, name: '¥5,400' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/console/payments/${payments.yen.id}`);
    await expectAccessible(page);
  },
);
