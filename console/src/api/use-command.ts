import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';

/**
 * Opens the dialog of a page that creates something, if the address asks for it, as the commands of the search do. The
 * parameter is removed, so that going back or loading the tab again does not open the dialog.
 */
export function useCreateCommand(open: () => void): void {
  const { path, query, route } = useLocation();
  const isAsked = query['create'] === 'true';
  useEffect(() => {
    if (!isAsked) return;
    open();
    route(path, true);
  }, [isAsked]);
}
