/** The constants that the server puts before the library. */
declare const sandboxUrl: string;
declare const sandboxOrigin: string;
declare const libraryVersion: string | number;
