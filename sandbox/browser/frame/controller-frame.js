/** @typedef {ReturnType<import('./element-frame.js').ElementFrame['collect']>} Collected */

/** The library calls only these. Other pages can open this frame too, and must not reach the sandbox's controls. */
const allowedPath = /^(payment_methods|tokens|confirmation_tokens|(payment|setup)_intents\/\w+(\/confirm)?)$/;

/**
 * Sends a request of the page, with the fields of these elements. Incomplete fields send nothing.
 * @param {{ key: string, headers: Record<string, string>, method?: string, path?: string, params?: Record<string, any>,
 *   elements?: readonly string[], place?: 'root' | 'payment_method_data' | 'card' }} request
 * @returns {Promise<object>}
 */
export async function respond({ key, headers, method, path, params = {}, elements = [], place }) {
  const collected = elements.map(collectFrom);
  const mistake = collected.find((fields) => fields.mistake !== null)?.mistake;
  if (mistake !== undefined && mistake !== null)
    return { error: { type: 'validation_error', code: mistake.code, message: mistake.message } };
  if (path === undefined) return {};
  if (!allowedPath.test(path) || !key.startsWith('pk_test_'))
    return { error: { type: 'invalid_request_error', message: `${path} is not supported by the sandbox.` } };
  return send(key, headers, method ?? 'GET', path, withFields(params, collected, place, path));
}

/**
 * The frames of the elements are beside this one, and of the same origin.
 * @param {string} id
 * @returns {Collected}
 */
function collectFrom(id) {
  for (let index = 0; index < parent.length; index += 1) {
    const collect = collectorOf(parent[index], id);
    if (collect !== undefined) return collect();
  }
  return { mistake: { key: '', code: 'incomplete', message: 'The fields have not loaded yet.' } };
}

/** @param {any} frame @param {string} id @returns {(() => Collected) | undefined} */
function collectorOf(frame, id) {
  try {
    return frame.sandboxElement?.id === id ? frame.sandboxElement.collect : undefined;
  } catch {
    // A frame of another origin.
    return undefined;
  }
}

/**
 * @param {Record<string, any>} params
 * @param {Collected[]} collected
 * @param {'root' | 'payment_method_data' | 'card' | undefined} place
 * @param {string} path
 */
function withFields(params, collected, place, path) {
  if (place === undefined) return params;
  const all = collected.reduce(merged, {});
  if (place === 'card') return tokenParams(params, all);
  const given = place === 'root' ? params : (params['payment_method_data'] ?? {});
  const data = merged(given, { type: 'card', card: all.card, billing_details: all.billing_details });
  if (place === 'root') return data;
  const shipping = path.startsWith('setup_intents') ? undefined : (all.shipping ?? params['shipping']);
  return { ...params, payment_method_data: data, shipping };
}

/** @param {Record<string, any>} params @param {any} all */
function tokenParams(params, { card, billing_details: billing }) {
  // Only the field of a security code: it is for a card that is saved already.
  if (card.number === undefined) return { cvc_update: card };
  return { card: { ...card, address_zip: billing?.address?.postal_code, ...params } };
}

/**
 * Later values win.
 * @param {any} first
 * @param {any} second
 * @returns {any}
 */
function merged(first, second) {
  if (!isPlain(first) || !isPlain(second)) return second ?? first;
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  return Object.fromEntries([...names].map((name) => [name, merged(first[name], second[name])]));
}

/** @param {unknown} value */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {string} key
 * @param {Record<string, string>} headers
 * @param {string} method
 * @param {string} path
 * @param {object} params
 */
async function send(key, headers, method, path, params) {
  const form = new URLSearchParams(flattened(params));
  const isGet = method === 'GET';
  try {
    const response = await fetch(`/v1/${path}${isGet ? `?${form}` : ''}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${key}` },
      ...(isGet ? {} : { body: form }),
    });
    return await response.json();
  } catch {
    const message = 'There was no response from the sandbox. Try again.';
    return { error: { type: 'api_connection_error', message } };
  }
}

/** @param {any} value @param {string} [name] @returns {[string, string][]} */
function flattened(value, name = '') {
  if (value === undefined) return [];
  if (value === null) return [[name, '']];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([part, inner]) =>
    flattened(inner, name === '' ? part : `${name}[${part}]`),
  );
}
