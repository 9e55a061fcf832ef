import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from './page.ts';

test('every value is escaped, even in attributes and lists, unless the template created it', () => {
  const name = `<script>"&'`;
  const escaped = '&#60;script&#62;&#34;&#38;&#39;';
  assert.equal(html`<p title="${name}">${name}</p>`.text, `<p title="${escaped}">${escaped}</p>`);
  assert.equal(
    html`<ul>${[name, 'x'].map((item) => html`<li>${item}</li>`)}</ul>`.text,
    `<ul><li>${escaped}</li><li>x</li></ul>`,
  );
  assert.equal(html`<b>${[name, null, 3]}</b>`.text, `<b>${escaped}3</b>`);
});
