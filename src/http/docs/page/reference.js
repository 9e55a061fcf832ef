// The script of the reference: opens what an address names, finds operations, and sends requests.

/** A stream or a slow response ends here. Longer than Till's own limit for a request. */
const timeoutMs = 35_000;

/** The address of Till: the page may be behind a proxy that adds a prefix. */
const base = location.pathname.replace(/\/api\/docs\/?$/, '');

for (const form of document.querySelectorAll('form.try')) form.addEventListener('submit', submit);
document.querySelector('#access')?.addEventListener('submit', (event) => event.preventDefault());
document.querySelector('#find')?.addEventListener('input', find);
addEventListener('hashchange', openTarget);
openTarget();

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(target instanceof HTMLDetailsElement)) return;
  target.open = true;
  target.scrollIntoView();
}

/** @param {Event} event */
function find(event) {
  if (!(event.target instanceof HTMLInputElement)) return;
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll('nav li')) {
    if (!(item instanceof HTMLElement)) continue;
    const text = `${item.textContent} ${item.querySelector('a')?.hash}`.toLowerCase();
    item.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of document.querySelectorAll('nav section'))
    if (section instanceof HTMLElement) section.hidden = section.querySelector('li:not([hidden])') === null;
}

/** @param {Event} event */
async function submit(event) {
  event.preventDefault();
  const form = event.currentTarget;
  if (!(form instanceof HTMLFormElement)) return;
  const output = form.querySelector('output');
  const button = form.querySelector('button');
  if (output === null || button === null) return;
  button.disabled = true;
  output.textContent = 'Sending…';
  const start = performance.now();
  try {
    const response = await send(form);
    const text = await response.text();
    const heading = `${response.status} ${response.statusText}, ${Math.round(performance.now() - start)} ms`;
    show(output, heading, readable(text));
  } catch (error) {
    show(output, 'There was no response.', String(error));
  } finally {
    button.disabled = false;
  }
}

/** @param {HTMLFormElement} form */
function send(form) {
  const { method = '', path = '' } = form.dataset;
  const headers = new Headers();
  const query = new URLSearchParams();
  let url = base + path;
  for (const input of form.querySelectorAll('input')) {
    const { name, value } = input;
    if (input.dataset['in'] === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && input.dataset['in'] === 'query') query.append(name, value);
    else if (value !== '') headers.set(name, value);
  }
  const apiKey = document.querySelector('#access input');
  if (apiKey instanceof HTMLInputElement && apiKey.value !== '') headers.set('x-api-key', apiKey.value);
  const body = form.querySelector('textarea')?.value;
  if (body) headers.set('content-type', 'application/json');
  return fetch(query.size === 0 ? url : `${url}?${query}`, {
    method: method.toUpperCase(),
    headers,
    signal: AbortSignal.timeout(timeoutMs),
    credentials: 'omit',
    ...(body ? { body } : {}),
  });
}

/** @param {string} text */
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/**
 * @param {HTMLOutputElement} output
 * @param {string} heading
 * @param {string} text
 */
function show(output, heading, text) {
  const title = document.createElement('strong');
  title.textContent = heading;
  const content = document.createElement('pre');
  content.tabIndex = 0;
  content.textContent = text;
  output.replaceChildren(title, content);
}
