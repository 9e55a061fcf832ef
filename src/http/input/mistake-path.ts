/** No field name of the API is half as long; a caller's may be as long as the body. */
const nameLengthMax = 100;

/** The path of a mistake: `body.amount`. Names that the caller invented are cut, so that a response stays short. */
export function mistakePath(part: string, ...names: readonly string[]): string {
  return [part, ...names.map(shorten)].join('.');
}

function shorten(name: string): string {
  // Cutting through a surrogate pair would leave a lone half that JSON parsers may refuse.
  return name.length <= nameLengthMax ? name : `${name.slice(0, nameLengthMax).toWellFormed()}…`;
}
