/** The version in package.json. The build and vitest.config.ts put it in place of this name. */
declare const __VERSION__: string;
