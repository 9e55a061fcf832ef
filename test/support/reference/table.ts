/** A Markdown table. Empty cells stay empty; a bar inside a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell.replaceAll('|', '\\|')} `)).join('|')}|`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** The first lines of every generated page. */
export function heading(title: string, source: string): string {
  return `# ${title}\n\n<!-- Written by \`npm run reference\` from ${source}. Don't edit it here. -->\n`;
}
