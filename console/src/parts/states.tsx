import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/api-error.ts';
import type { Resource } from '../api/use-resource.ts';
import { Page } from './page.tsx';

export function Loading({ what = 'Loading' }: { readonly what?: string }) {
  return (
    <p class="state" role="status">
      <span class="spinner" aria-hidden="true" /> {what}…
    </p>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="state">{children}</p>;
}

/** Why something could not be loaded, and how to go on. */
export function Failed({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }) {
  if (error.status === 403)
    return (
      <div class="state" role="alert">
        <strong>Not allowed</strong>
        <p>{error.detail}</p>
      </div>
    );
  return (
    <div class="state" role="alert">
      <strong>{error.title}</strong>
      <p>{error.detail}</p>
      {error.requestId !== null && (
        <p class="quiet">
          Request id <code>{error.requestId}</code>
        </p>
      )}
      {retry !== undefined && error.status !== 404 && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The value of a resource once it is there, and its state until then. */
export function Show<T>({
  resource,
  heading,
  children,
}: {
  readonly resource: Resource<T>;
  /** For a resource that is the whole page: the heading until its own is known. */
  readonly heading?: string;
  readonly children: (value: T) => ComponentChildren;
}) {
  const { value, error, reload } = resource;
  if (value === undefined) {
    const state = error === undefined ? <Loading /> : <Failed error={error} retry={reload} />;
    return heading === undefined ? state : <Page title={heading}>{state}</Page>;
  }
  return (
    <>
      {error !== undefined && (
        <div class="banner" role="status">
          Not up to date: {error.detail}{' '}
          <button type="button" class="link" onClick={reload}>
            Try again
          </button>
        </div>
      )}
      {children(value)}
    </>
  );
}
