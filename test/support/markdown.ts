import { globSync } from 'node:fs';
import { join, sep } from 'node:path';

/** A block of code in a page. */
export interface CodeBlock {
  /** The first word of the fence's info string: `sh`, `ts`, `json`. Empty for an indented block. */
  readonly language: string;
  /** The rest of the info string. */
  readonly note: string;
  readonly code: string;
  /** The line of its first line of code, counted from 1. */
  readonly line: number;
}

export interface Heading {
  readonly text: string;
  readonly line: number;
}

export interface Link {
  readonly target: string;
  /** The text of a link, or the alternative text of an image. */
  readonly text: string;
  readonly isImage: boolean;
  readonly line: number;
}

export interface Page {
  readonly blocks: readonly CodeBlock[];
  readonly headings: readonly Heading[];
  readonly links: readonly Link[];
  /** What is left without code blocks, line by line; the lines of code are empty. */
  readonly prose: readonly string[];
}

const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)\s*(.*)$/;
const listItem = /^\s*(?:[-*+]|\d+[.)])\s/;
const inlineCode = /(`+)(?:(?!\1).)+\1/g;
const inlineLink = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+(?:\([^()]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/g;
const definedLink = /^\[([^\]]+)\]:\s+(\S+)/;
const htmlLink = /<(a|img|source)\b[^>]*?\b(?:href|src|srcset)="([^"\s]+)[^"]*"[^>]*>/g;

/** Every Markdown page of the repository, as paths in it. */
export function findPages(root: string): readonly string[] {
  return globSync('**/*.md', {
    cwd: root,
    exclude: ['**/node_modules/**', 'bench/peers/**', '**/dist/**', '.till/**'],
  })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !join('/', path).includes('/.'))
    .toSorted();
}

/** Reads the parts of a page that tests check. It understands the Markdown that this repository uses, not all of it. */
export function readPage(text: string): Page {
  const { blocks, prose } = splitCode(text.split('\n'));
  const headings = prose.flatMap((content, index) => {
    const found = /^#{1,6}\s+(.*?)\s*#*$/.exec(content)?.[1];
    return found === undefined ? [] : [{ text: found, line: index + 1 }];
  });
  return { blocks, headings, links: readLinks(prose), prose };
}

function splitCode(lines: readonly string[]): Pick<Page, 'blocks' | 'prose'> {
  const blocks: CodeBlock[] = [];
  const prose = [...lines];
  let isInList = false;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const opened = fence.exec(line);
    const isIndented =
      !isInList && /^ {4}\S/.test(line) && (lines[index - 1] ?? '').trim() === '' && opened === null;
    if (opened === null && !isIndented) {
      if (/^\S/.test(line)) isInList = listItem.test(line);
      continue;
    }
    const last = isIndented ? endOfIndented(lines, index) : endOfFenced(lines, index, opened?.[2] ?? '');
    const code = isIndented ? lines.slice(index, last + 1) : lines.slice(index + 1, last);
    const depth = isIndented ? 4 : (opened?.[1]?.length ?? 0);
    blocks.push({
      language: opened?.[3] ?? '',
      note: opened?.[4] ?? '',
      code: `${code.map((each) => each.slice(Math.min(depth, each.length - each.trimStart().length))).join('\n')}\n`,
      line: isIndented ? index + 1 : index + 2,
    });
    for (; index < last; index += 1) prose[index] = '';
    prose[index] = '';
  }
  return { blocks, prose };
}

function endOfFenced(lines: readonly string[], start: number, mark: string): number {
  const end = lines.findIndex((line, index) => index > start && line.trim() === mark);
  return end === -1 ? lines.length - 1 : end;
}

function endOfIndented(lines: readonly string[], start: number): number {
  let last = start;
  for (let index = start + 1; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (/^ {4}\S|^ {5,}/.test(line)) last = index;
    else if (line.trim() !== '') break;
  }
  return last;
}

function readLinks(prose: readonly string[]): readonly Link[] {
  // Links can continue on the next line, so paragraphs are read as a whole. Code keeps its length and loses its
  // content.
  const text = prose.join('\n').replace(inlineCode, (code) => code.replace(/[^\n]/g, ' '));
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const original = prose.join('\n');
  const inline = [...text.matchAll(inlineLink)].map((match) => ({
    isImage: match[1] === '!',
    text: original.slice(match.index, match.index + match[0].length).replace(/^!?\[|\]\([\s\S]*$/g, ''),
    target: match[3] ?? '',
    line: lineAt(match.index),
  }));
  const nested = inline.flatMap((link) =>
    readNested(link.text).map((image) => ({ ...image, line: link.line })),
  );
  const html = [...text.matchAll(htmlLink)].map((match) => ({
    isImage: match[1] === 'img',
    text: /\balt="([^"]*)"/.exec(match[0])?.[1] ?? '',
    target: match[2] ?? '',
    line: lineAt(match.index),
  }));
  const defined = prose.flatMap((line, index) => {
    const match = definedLink.exec(line);
    return match === null
      ? []
      : [{ isImage: false, text: match[1] ?? '', target: match[2] ?? '', line: index + 1 }];
  });
  return [...inline, ...nested, ...html, ...defined];
}

/** An image inside a link. */
function readNested(text: string): readonly Omit<Link, 'line'>[] {
  return [...text.matchAll(/!\[([^\]]*)\]\(([^()\s]+)\)/g)].map(([, alt = '', target = '']) => ({
    isImage: true,
    text: alt,
    target,
  }));
}
