/** The variables of `appearance` that the sandbox takes: colours, fonts and the shape of fields. */
const variables = [
  'colorPrimary',
  'colorBackground',
  'colorText',
  'colorTextSecondary',
  'colorTextPlaceholder',
  'colorDanger',
  'fontFamily',
  'fontSizeBase',
  'fontLineHeight',
  'borderRadius',
  'spacingUnit',
];

/** @type {Record<string, Record<string, string>>} */
const themes = {
  night: {
    colorBackground: '#30313d',
    colorText: '#ffffff',
    colorTextSecondary: '#c9cbd8',
    colorTextPlaceholder: '#a5a8b8',
    colorPrimary: '#9db4ff',
    colorDanger: '#ff9aa5',
  },
};

/** The properties of `style` that the sandbox takes, for each state of a field. */
const properties = [
  'backgroundColor',
  'color',
  'fontFamily',
  'fontSize',
  'fontStyle',
  'fontVariant',
  'fontWeight',
  'letterSpacing',
  'lineHeight',
  'textAlign',
  'textDecoration',
  'textTransform',
];

/**
 * Sets the variables that frame.css uses. They are colours and fonts, so they can load nothing.
 * @param {any} style The `style` of an element.
 * @param {any} appearance The `appearance` of its group.
 */
export function applyStyle(style, appearance) {
  const given = { ...themes[appearance?.theme], ...appearance?.variables };
  for (const name of variables) set(name, given[name]);
  const base = style?.base ?? {};
  for (const name of properties) set(`base-${name}`, base[name]);
  set('placeholder', base['::placeholder']?.color);
  set('invalid', style?.invalid?.color);
  set('complete', style?.complete?.color);
}

/** @param {string} name @param {unknown} value */
function set(name, value) {
  const root = document.documentElement.style;
  if (typeof value === 'string' || typeof value === 'number') root.setProperty(`--${name}`, String(value));
  else root.removeProperty(`--${name}`);
}
