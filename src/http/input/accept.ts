/** The media type of most responses, for a caller that asks for no other. */
const usualType = 'application/json';

interface AcceptedRange {
  /** A media type or a content coding. */
  readonly type: string;
  readonly quality: number;
}

/**
 * Whether an `Accept` header asks for a response of this media type instead of the usual JSON: it names the type, and
 * prefers it at least as much as JSON. A wildcard names no type, so it gets JSON.
 */
export function asksFor(accept: string | undefined, type: string): boolean {
  const ranges = rangesOf(accept ?? '');
  const quality = qualityOf(ranges, type);
  return quality !== undefined && quality > 0 && quality >= usualQuality(ranges);
}

/** Whether an `Accept-Encoding` header names a coding, and does not exclude it. */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  return (qualityOf(rangesOf(acceptEncoding ?? ''), coding) ?? 0) > 0;
}

/** The most specific range decides (RFC 9110, 12.5.1). */
function usualQuality(ranges: readonly AcceptedRange[]): number {
  return qualityOf(ranges, usualType) ?? qualityOf(ranges, 'application/*') ?? qualityOf(ranges, '*/*') ?? 0;
}

/** A type can appear several times, with different parameters. */
function qualityOf(ranges: readonly AcceptedRange[], type: string): number | undefined {
  const qualities = ranges.filter((range) => range.type === type).map(({ quality }) => quality);
  return qualities.length === 0 ? undefined : Math.max(...qualities);
}

function rangesOf(accept: string): readonly AcceptedRange[] {
  // A quoted parameter can contain separators. None of them matters here.
  return accept
    .toLowerCase()
    .replace(/"(?:\\.|[^"\\])*(?:"|$)/g, '')
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
      return { type, quality: weightOf(parameters) };
    });
}

/** A weight that is malformed counts as no weight. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '';
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 1;
}
