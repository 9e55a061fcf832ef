/** Runs before every call to the processor: throws while it must not be called, or waits until it may be. */
export type BeforeCall = () => void | Promise<void>;
