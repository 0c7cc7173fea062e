/** The version in package.json. The build and vitest.config.ts replace this name with it. */
declare const __VERSION__: string;

/** The location of the built spawner: relative to the module that starts it, or a URL. Replaced like the version. */
declare const __SPAWNER__: string;

/** The location of the built bridge, in the same form. */
declare const __BRIDGE__: string;

/** The location of the built worker that reads web pages, in the same form. */
declare const __WEB_WORKER__: string;

/** The location of the built page of the console: a folder, in the same form. */
declare const __CONSOLE_PAGE__: string;
