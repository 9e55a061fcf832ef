import assert from 'node:assert/strict';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

interface Endpoint {
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly enabled: boolean;
}

browserTest(
  'an endpoint is added, shows its secret once, and is changed, turned off and deleted',
  async ({ page, till, open }) => {
    const url = 'https://shop.example.com/added';
    const find = async () => {
      const { data } = await till.get<{ data: readonly Endpoint[] }>('/event-endpoints');
      return data.find((endpoint) => endpoint.url === url);
    };
    await open('/console/event-endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill(url);
    await dialog.getByLabel('All types').uncheck();
    await dialog.getByLabel('payment.succeeded').check();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    const secret = await dialog.getByText(/^whsec_/).textContent();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    assert.equal(await dialog.getByText(/^whsec_/).textContent(), secret, 'only its button closes it');
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('link', { name: url }).click();
    await page.getByText('No event was sent here yet.').waitFor();
    assert.ok(!(await page.content()).includes(String(secret)), 'the secret is gone');
    assert.deepEqual((await find())?.types, ['payment.succeeded']);

    await page.getByRole('button', { name: 'Turn off' }).click();
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await page.getByRole('button', { name: 'Turn on' }).waitFor();
    assert.equal((await find())?.enabled, false);

    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    assert.notEqual(await dialog.getByText(/^whsec_/).textContent(), secret);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();

    await page.getByRole('button', { name: 'Replay events' }).click();
    await dialog.getByRole('button', { name: 'Replay events' }).click();
    await page.getByText('The events are sent again').waitFor();

    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete endpoint' }).click();
    await page.getByRole('heading', { level: 1, name: 'Event endpoints' }).waitFor();
    assert.equal(await find(), undefined);
  },
);

browserTest(
  'an address inside a private network is refused with its reason, and can be corrected',
  async ({ page, problems, open }) => {
    problems.expect(/400/);
    await open('/console/event-endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill('https://10.0.0.1/hook');
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('URL').fill('https://shop.example.com/hook');
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    await dialog.getByText(/^whsec_/).waitFor();
  },
);
