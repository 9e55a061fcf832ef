/** A4, in points. */
const page = { width: 595, height: 842, margin: 56 };
const fontSize = 11;
const lineHeight = 16;
/** The space between the margins of a page. */
const linesPerPage = Math.floor((page.height - 2 * page.margin) / lineHeight);

/**
 * A PDF of plain lines of text, with as many pages as needed. It uses a font that every reader has. Characters that the
 * font lacks become question marks.
 */
export function plainPdf(lines: readonly string[]): string {
  const pages = Math.max(1, Math.ceil(lines.length / linesPerPage));
  const pageIds = Array.from({ length: pages }, (_, index) => firstPageId + 2 * index);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] /Count ${pages} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>',
    ...pageIds.flatMap((id, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${page.width} ${page.height}] /Resources << /Font << /F1 3 0 R >> >> /Contents ${id + 1} 0 R >>`,
      streamOf(lines.slice(index * linesPerPage, (index + 1) * linesPerPage)),
    ]),
  ];
  return fileOf(objects);
}

/** After the catalogue, the list of pages and the font. */
const firstPageId = 4;

function streamOf(lines: readonly string[]): string {
  const start = `BT /F1 ${fontSize} Tf ${lineHeight} TL ${page.margin} ${page.height - page.margin} Td`;
  const text = [start, ...lines.map((line) => `(${escapeText(line)}) Tj T*`), 'ET'].join('\n');
  return `<< /Length ${text.length} >>\nstream\n${text}\nendstream`;
}

/** The objects, then a table with the start of each one. All text is ASCII, so a character is a byte. */
function fileOf(objects: readonly string[]): string {
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const size = objects.length + 1;
  return `${file}xref\n0 ${size}\n0000000000 65535 f \n${entries.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
}

/** The currency signs and dashes of the font outside Latin-1, by their code in the font. */
const specialCodes: Readonly<Record<string, number>> = { '€': 0x80, '–': 0x96, '—': 0x97, '’': 0x92 };
/** The number format puts this kind of space between a currency and its amount. */
const spaces = /\p{Zs}/u;

function escapeText(text: string): string {
  return Array.from(text, (character) => {
    const latin = character.codePointAt(0) ?? 0;
    const code = specialCodes[character] ?? (spaces.test(character) ? 0x20 : latin);
    if (code < 0x20 || code > 0xff || (code > 0x7e && code < 0xa0 && code === latin)) return '?';
    const isPlain = code < 0x7f && !'()\\'.includes(character);
    return isPlain ? String.fromCharCode(code) : `\\${code.toString(8).padStart(3, '0')}`;
  }).join('');
}
