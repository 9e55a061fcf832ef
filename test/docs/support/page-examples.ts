import type { CodeBlock } from '../../support/markdown.ts';

/** What a page claims that its commands print: JSON, or lines of text. */
export interface Claim {
  readonly kind: 'json' | 'text';
  readonly content: string;
  readonly line: number;
}

export interface ShellExample {
  readonly code: string;
  readonly line: number;
  readonly claims: readonly Claim[];
}

export interface ExampleFile {
  readonly path: string;
  readonly code: string;
}

export interface PageExamples {
  /** Commands for bash, in the order of the page. */
  readonly shell: readonly ShellExample[];
  /** Parts of one TypeScript module, in the order of the page. */
  readonly typescript: readonly CodeBlock[];
  /** Files of an application, which begin with a comment that names them. */
  readonly files: readonly ExampleFile[];
  /** Blocks that are not run, with the reason that their fence gives. */
  readonly notRun: readonly { readonly line: number; readonly reason: string }[];
  /** Blocks of other languages: another test must run them. */
  readonly foreign: readonly { readonly line: number; readonly language: string }[];
  /** What the harness cannot accept. */
  readonly mistakes: readonly string[];
}

/** The info string of a block that is not run: ```sh not run: it installs packages */
const notRunPattern = /^not run: (\S.*)$/;

/** The first line of a file: `// app/checkout/route.ts`, or `<!-- public/prices.html -->`. */
const filePattern = /^(?:\/\/|<!--) ([\w./-]+\.(?:tsx?|html))(?: -->)?\n/;

/**
 * Sorts the blocks of a page by what a test does with them. `sh` and `ts` are run. `json` after them is the response to
 * the commands before it, and `text` what they print. `text` elsewhere is not an example. A block that names its file
 * is a part of an application.
 */
export function readExamples(blocks: readonly CodeBlock[]): PageExamples {
  const shell: ShellExample[] = [];
  const typescript: CodeBlock[] = [];
  const files: ExampleFile[] = [];
  const notRun: { line: number; reason: string }[] = [];
  const foreign: { line: number; language: string }[] = [];
  const mistakes: string[] = [];
  /** Only a block that follows an example, or its TypeScript twin, claims what the example prints. */
  let isAfterShell = false;
  for (const { language, note, code, line } of blocks) {
    const reason = notRunPattern.exec(note)?.[1];
    const path = filePattern.exec(code)?.[1];
    if (note !== '' && reason === undefined)
      mistakes.push(`line ${line}: "${note}" is not "not run: REASON"`);
    if (reason !== undefined) {
      notRun.push({ line, reason });
      isAfterShell = false;
    } else if (path !== undefined) files.push({ path, code });
    else if (language === 'sh') {
      shell.push({ code, line, claims: [] });
      isAfterShell = true;
    } else if (language === 'ts') typescript.push({ language, note, code, line });
    else if (language === 'json' || language === 'text') {
      const last = shell.pop();
      if (last !== undefined) {
        const claim: Claim = { kind: language, content: code, line };
        shell.push({ ...last, claims: isAfterShell ? [...last.claims, claim] : last.claims });
      }
      if (language === 'json' && !isAfterShell)
        mistakes.push(`line ${line}: this JSON follows no command that could print it`);
      isAfterShell = false;
    } else if (language === '') mistakes.push(`line ${line}: a block without a language`);
    else foreign.push({ line, language });
  }
  return { shell, typescript, files, notRun, foreign, mistakes };
}

/**
 * Whether a value has everything that a claim shows. Objects may have more fields. A text matches with `…` in place of
 * any characters, and a list whose last item is `…` may go on.
 */
export function matches(value: unknown, claim: unknown): boolean {
  if (claim === '…') return true;
  if (typeof claim === 'string') return typeof value === 'string' && textPattern(claim).test(value);
  if (Array.isArray(claim)) {
    if (!Array.isArray(value)) return false;
    const isOpen = claim.at(-1) === '…';
    const items = isOpen ? claim.slice(0, -1) : claim;
    if (isOpen ? value.length < items.length : value.length !== items.length) return false;
    return items.every((item, index) => matches(value[index], item));
  }
  if (typeof claim === 'object' && claim !== null) {
    if (typeof value !== 'object' || value === null) return false;
    return Object.entries(claim).every(
      ([key, item]) =>
        (key === '…' && item === '…') || matches((value as Readonly<Record<string, unknown>>)[key], item),
    );
  }
  return value === claim;
}

/** The text with `…` in place of any characters. */
export function textPattern(text: string): RegExp {
  return new RegExp(`^${text.split('…').map(RegExp.escape).join('.*')}$`, 's');
}
