/** What the API shows in place of the personal data of an object, when its customer is deleted. */
export type ErasedFields = Readonly<Record<string, unknown>>;

/** Of objects with metadata. */
export const erasedMetadata = { metadata: {} };
