/** The version in package.json. The build and vitest.config.ts put it in place of this name. */
declare const __VERSION__: string;

/** Where the built spawner is, relative to the module that starts it, or as a URL. Put in place of this name like the version. */
declare const __SPAWNER__: string;

/** Where the built bridge is, like the spawner. */
declare const __BRIDGE__: string;

/** Where the built worker that reads web pages is, like the spawner. */
declare const __WEB_WORKER__: string;
