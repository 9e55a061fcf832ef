// The build puts the package's module here, beside the script of the page.
export { default } from 'minisearch';
