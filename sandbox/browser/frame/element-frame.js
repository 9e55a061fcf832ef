import { applyStyle } from './appearance.js';
import { collectedFields, shownFields } from './collected-fields.js';
import { countries } from './countries.js';
import { fieldsOf } from './field-sets.js';

/** @typedef {import('./field-sets.js').Field} Field */
/**
 * @typedef {{ field: Field, input: HTMLInputElement | HTMLSelectElement, box: HTMLElement, error: HTMLElement }} Part
 */

/** The fields of one element, in its frame. */
export class ElementFrame {
  #type;
  #idPrefix;
  #send;
  /** @type {Record<string, any>} */
  #options = {};
  /** @type {Part[]} */
  #parts = [];
  /** @type {Set<string>} The fields that the customer has left: only then is it a mistake that they are incomplete. */
  #left = new Set();
  #form = document.createElement('div');
  #lastState = '';

  /** @param {string} type @param {string} idPrefix @param {(message: object) => void} send */
  constructor(type, idPrefix, send) {
    this.#type = type;
    this.#idPrefix = idPrefix;
    this.#send = send;
    this.#form.className = `form ${['payment', 'address', 'linkAuthentication'].includes(type) ? 'stack' : 'line'}`;
    document.body.append(this.#form);
    const mark = document.createElement('p');
    mark.className = 'mark';
    mark.textContent = 'Sandbox';
    this.#form.append(mark);
    new ResizeObserver(() => send({ type: 'height', height: this.#form.offsetHeight })).observe(this.#form);
    // Moving between two fields is neither.
    addEventListener('focusin', ({ relatedTarget }) => relatedTarget === null && send({ type: 'focus' }));
    addEventListener('focusout', ({ relatedTarget }) => relatedTarget === null && send({ type: 'blur' }));
    addEventListener('keydown', ({ key }) => key === 'Escape' && send({ type: 'escape' }));
  }

  /** @param {{ options: Record<string, any>, appearance?: any, asksBilling: boolean }} given */
  configure({ options, appearance, asksBilling }) {
    this.#options = options;
    const values = this.#values;
    const fields = fieldsOf(this.#type, options, asksBilling);
    const isNew = fields.map(({ key }) => key).join() !== this.#parts.map(({ field }) => field.key).join();
    if (isNew) this.#build(fields, values);
    for (const { input } of this.#parts) {
      input.disabled = options['disabled'] === true;
      if (input instanceof HTMLInputElement) input.readOnly = options['readOnly'] === true;
    }
    applyStyle(options['style'], appearance);
    this.#report(false);
  }

  focus() {
    this.#parts[0]?.input.focus();
  }

  blur() {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }

  clear() {
    for (const { field, input } of this.#parts) input.value = field.type === 'country' ? input.value : '';
    this.#left.clear();
    this.#report(true);
  }

  /** For the frame that sends requests. Shows what is missing. */
  collect() {
    for (const { field } of this.#parts) this.#left.add(field.key);
    this.#report(true);
    const [mistake] = this.#mistakes();
    return { mistake: mistake ?? null, ...collectedFields(this.#type, this.#options, this.#values) };
  }

  /** @returns {Record<string, string>} */
  get #values() {
    return Object.fromEntries(
      this.#parts.filter(({ box }) => !box.hidden).map(({ field, input }) => [field.key, input.value]),
    );
  }

  /** @param {readonly Field[]} fields @param {Record<string, string>} values */
  #build(fields, values) {
    for (const { box } of this.#parts) box.remove();
    this.#parts = fields.map((field) => this.#part(field, values[field.key] ?? field.value ?? ''));
    this.#form.prepend(...this.#parts.map(({ box }) => box));
  }

  /** @param {Field} field @param {string} value @returns {Part} */
  #part(field, value) {
    const id = `${this.#idPrefix}-${field.name}`;
    const box = document.createElement('div');
    box.className = `field ${field.key}`;
    const label = document.createElement('label');
    label.htmlFor = `${id}Input`;
    label.textContent = field.label;
    if (field.hint !== undefined) {
      const hint = document.createElement('span');
      hint.className = 'hidden';
      hint.textContent = ` ${field.hint}`;
      label.append(hint);
    }
    const input = field.type === 'country' ? countrySelect() : textInput(field);
    Object.assign(input, { id: `${id}Input`, name: field.name, value, autocomplete: field.autocomplete });
    if (field.stableName !== undefined) input.dataset['elementsStableFieldName'] = field.stableName;
    const error = document.createElement('p');
    error.id = `${id}Error`;
    error.className = 'error';
    error.setAttribute('role', 'alert');
    input.setAttribute('aria-describedby', error.id);
    input.addEventListener('input', () => this.#typed(field, input));
    input.addEventListener('blur', () => {
      if (input.value !== '') this.#left.add(field.key);
      this.#report(true);
    });
    box.append(label, input, error);
    return { field, input, box, error };
  }

  /** @param {Field} field @param {HTMLInputElement | HTMLSelectElement} input */
  #typed(field, input) {
    if (field.format !== undefined && input instanceof HTMLInputElement) reformat(input, field.format);
    this.#report(true);
    const isAtEnd = input instanceof HTMLInputElement && input.selectionStart === input.value.length;
    if (!isAtEnd || field.isFull?.(this.#values) !== true) return;
    // As in the real library, the next field follows a full one.
    const place = this.#parts.findIndex((part) => part.input === input);
    this.#parts[place + 1]?.input.focus();
  }

  #mistakes() {
    const values = this.#values;
    return this.#parts.flatMap(({ field, box }) => {
      const mistake = box.hidden || field.isOptional ? null : (field.mistake?.(values) ?? null);
      return mistake === null ? [] : [{ ...mistake, key: field.key }];
    });
  }

  /** Tells the page the state, if it has changed. @param {boolean} isChange */
  #report(isChange) {
    for (const { field, box } of this.#parts) box.hidden = field.isShown?.(this.#values) === false;
    const values = this.#values;
    const mistakes = this.#mistakes();
    const visible = mistakes.filter(({ key, code }) => !code.startsWith('incomplete') || this.#left.has(key));
    for (const { field, input, error } of this.#parts) {
      const mistake = visible.find(({ key }) => key === field.key);
      error.textContent = mistake?.message ?? '';
      input.setAttribute('aria-invalid', String(mistake !== undefined));
    }
    const texts = this.#parts.filter(({ field, box }) => field.type !== 'country' && !box.hidden);
    const [first] = visible;
    const state = {
      empty: texts.every(({ input }) => input.value === ''),
      complete: mistakes.length === 0,
      error:
        first === undefined
          ? undefined
          : { type: 'validation_error', code: first.code, message: first.message },
      ...shownFields(this.#type, this.#options, values),
    };
    const text = JSON.stringify(state);
    if (text === this.#lastState) return;
    this.#lastState = text;
    this.#send({ type: 'state', state, isChange });
  }
}

/** @param {Field} field */
function textInput(field) {
  const input = document.createElement('input');
  input.type = field.type ?? (field.isNumeric ? 'tel' : 'text');
  if (field.isNumeric) input.inputMode = 'numeric';
  input.placeholder = field.placeholder ?? '';
  input.spellcheck = false;
  return input;
}

function countrySelect() {
  const select = document.createElement('select');
  for (const { code, name } of countries()) select.add(new Option(name, code));
  return select;
}

/**
 * Formats the text, and keeps the cursor behind the same digit.
 * @param {HTMLInputElement} input
 * @param {(text: string) => string} format
 */
function reformat(input, format) {
  const before = input.value;
  const formatted = format(before);
  if (formatted === before) return;
  const digitsBefore = before.slice(0, input.selectionStart ?? before.length).replaceAll(/\D/g, '').length;
  const isAtEnd = input.selectionStart === before.length;
  input.value = formatted;
  let place = 0;
  for (let digits = 0; place < formatted.length && digits < digitsBefore; place += 1)
    if (/\d/.test(formatted[place] ?? '')) digits += 1;
  const cursor = isAtEnd ? formatted.length : place;
  input.setSelectionRange(cursor, cursor);
}
