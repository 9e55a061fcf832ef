/** No field name of the API is half as long; a caller's may be as long as the body. */
const nameLengthMax = 100;

/** The lists whose items are whole objects of their own. The index of an item is in brackets: `body.events[3].at`. */
const batches = ['events'];

/** The path of a mistake: `body.amount`. Names that the caller invented are cut, so that a response stays short. */
export function mistakePath(part: string, ...names: readonly string[]): string {
  return names.reduce((path, name, index) => {
    const isItem = batches.includes(names[index - 1] ?? '') && /^\d+$/.test(name);
    return isItem ? `${path}[${name}]` : `${path}.${shorten(name)}`;
  }, part);
}

function shorten(name: string): string {
  // Cutting through a surrogate pair would leave a lone half that JSON parsers may refuse.
  return name.length <= nameLengthMax ? name : `${name.slice(0, nameLengthMax).toWellFormed()}…`;
}
