/** The anchors of the headings of a page, as GitHub makes them: repeated ones get a number. */
export function headingAnchors(headings: readonly string[]): readonly string[] {
  const anchors = new Set<string>();
  for (const heading of headings) {
    const slug = slugOf(heading);
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return [...anchors];
}

/** `heading` is Markdown. */
function slugOf(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
