/** One instruction of a Dockerfile. */
export interface Instruction {
  /** In upper case, such as COPY. */
  readonly name: string;
  readonly flags: ReadonlyMap<string, string>;
  /** What follows the flags, on one line. */
  readonly text: string;
}

/** Reads the instructions of a Dockerfile. A linter has checked its syntax. */
export function parseDockerfile(source: string): readonly Instruction[] {
  return source
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parseInstruction);
}

function parseInstruction(line: string): Instruction {
  const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
  const flags = new Map<string, string>();
  let text = rest;
  for (;;) {
    const [flag, key, value] = /^--([a-z-]+)=(\S+)\s+/.exec(text) ?? [];
    if (flag === undefined || key === undefined || value === undefined) break;
    flags.set(key, value);
    text = text.slice(flag.length);
  }
  return { name: name.toUpperCase(), flags, text };
}

/** The arguments of an instruction, in either form. */
export function argumentsOf(text: string): readonly string[] {
  if (text.startsWith('[')) return JSON.parse(text);
  return text.trim().split(/\s+/);
}

/** The pairs of ENV, which have no quotes here. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    argumentsOf(text).map((pair) => {
      const [, key, value] = /^(\w+)=([^"'\\$]*)$/.exec(pair) ?? [];
      if (key === undefined || value === undefined) throw new Error(`not a plain pair: ${pair}`);
      return [key, value];
    }),
  );
}
