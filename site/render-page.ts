import { Marked, type Token, type Tokens } from 'marked';
import { Html, html } from '../src/http/docs/html.ts';
import { relativeAddress, targetOf } from './addresses.ts';
import { headingAnchors } from './heading-anchors.ts';

/** A part of a page that the search finds: a heading with the text below it. */
export interface Section {
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
  /** The pages and the other files of the repository to which it leads. */
  readonly pages: readonly string[];
  readonly files: readonly string[];
}

/** Other files, such as source code, are not in the site. A link to one is shown as text. */
const copiedFiles = /\.(svg|png|json)$/;

/** Renders a Markdown page of the repository. */
export function renderPage(path: string, markdown: string): RenderedPage {
  const marked = new Marked();
  const tokens = marked.lexer(markdown);
  const headings = tokens.filter(isHeading);
  const anchors = headingAnchors(headings.map(({ text }) => text));
  const anchorOf = (heading: Tokens.Heading) => anchors[headings.indexOf(heading)] ?? '';
  const pages = new Set<string>();
  const files = new Set<string>();
  const addressFor = (href: string): string | undefined => {
    const target = targetOf(path, href);
    if (target === undefined) return href;
    const isPage = target.path.endsWith('.md');
    if (!isPage && !copiedFiles.test(target.path)) return undefined;
    (isPage ? pages : files).add(target.path);
    return target.path === path ? target.anchor : relativeAddress(path, target.path) + target.anchor;
  };
  marked.use({
    renderer: {
      heading(heading) {
        const { depth, tokens: inline } = heading;
        return `<h${depth} id="${anchorOf(heading)}">${this.parser.parseInline(inline)}</h${depth}>\n`;
      },
      link({ href, tokens: inline }) {
        const text = this.parser.parseInline(inline);
        const address = addressFor(href);
        return address === undefined ? text : html`<a href="${address}">${new Html(text)}</a>`.text;
      },
      image: ({ href, text }) =>
        html`<img src="${addressFor(href) ?? href}" alt="${text}" loading="lazy">`.text,
    },
  });
  return {
    title: plainText(headings[0]?.text ?? path),
    html: makeAccessible(marked.parser(tokens)),
    sections: sectionsOf(tokens, (heading) => ({
      heading: plainText(heading.text),
      anchor: anchorOf(heading),
    })),
    pages: [...pages],
    files: [...files],
  };
}

/** What scrolls can be reached with the keyboard, and an empty cell is not a heading. */
function makeAccessible(rendered: string): string {
  return rendered
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="table" tabindex="0">\n<table>')
    .replaceAll('</table>', '</table>\n</div>')
    .replaceAll('<th></th>', '<td></td>');
}

function sectionsOf(
  tokens: readonly Token[],
  describe: (heading: Tokens.Heading) => Omit<Section, 'text'>,
): readonly Section[] {
  const sections: Section[] = [];
  for (const token of tokens) {
    if (isHeading(token)) sections.push({ ...describe(token), text: '' });
    else {
      const last = sections.pop();
      if (last !== undefined) sections.push({ ...last, text: `${last.text} ${plainText(token.raw)}`.trim() });
    }
  }
  return sections;
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading';
}

/** Markdown without its marks: what the search finds and shows. */
function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(`{3,}.*|\|[-| ]+\||[-*] )/gm, ' ')
    .replace(/[`*|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
