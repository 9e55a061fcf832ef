import { isTillError } from '@till/client';
import type { ComponentChildren } from 'preact';
import type { Failure } from '../api/failure.ts';
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

/** Why something could not be loaded, and how to continue. */
export function Failed({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }) {
  const { title, detail, requestId, isOutage, error } = failure;
  if (isTillError(error, 'forbidden'))
    return (
      <div class="state" role="alert">
        <strong>Not allowed</strong>
        <p>{detail}</p>
      </div>
    );
  return (
    <div class="state" role="alert">
      <strong>{title}</strong>
      <p>{detail}</p>
      {retry !== undefined && isOutage && <p class="quiet">It is tried again every few seconds.</p>}
      {requestId !== undefined && (
        <p class="quiet">
          Request id <code>{requestId}</code>
        </p>
      )}
      {retry !== undefined && !isTillError(error, 'not_found') && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The value of a resource once it is loaded, and its state until then. */
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
  const { value, failure, reload } = resource;
  if (value === undefined) {
    const state = failure === undefined ? <Loading /> : <Failed failure={failure} retry={reload} />;
    return heading === undefined ? state : <Page title={heading}>{state}</Page>;
  }
  return (
    <>
      {failure !== undefined && (
        <div class="banner" role="status">
          Not up to date: {failure.detail}{' '}
          <button type="button" class="link" onClick={reload}>
            Try again
          </button>
        </div>
      )}
      {children(value)}
    </>
  );
}
