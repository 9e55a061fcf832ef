/**
 * Metadata at the processor without the digests of the request that created the object, which are different each time.
 */
export function withoutMark(metadata: Readonly<Record<string, string>> | null): Record<string, string> {
  const { till_key: _key, till_request: _request, ...others } = metadata ?? {};
  return others;
}
