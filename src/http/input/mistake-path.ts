/** No field of ours has a name half as long; a caller's own may be as long as the body. */
const nameLengthMax = 100;

/** Where a mistake is: `body.amount`. Names that the caller made up are cut, so that an answer stays short. */
export function mistakePath(part: string, ...names: readonly string[]): string {
  return [part, ...names.map(shorten)].join('.');
}

function shorten(name: string): string {
  // Cutting between the halves of a character would leave one that no JSON reader has to accept.
  return name.length <= nameLengthMax ? name : `${name.slice(0, nameLengthMax).toWellFormed()}…`;
}
