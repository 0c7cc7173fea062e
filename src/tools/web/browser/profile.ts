import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext, BrowserContextOptions } from "playwright-core";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { isMissing, makePrivateFolder, replacePrivateFile } from "../../../core/util/private-file.ts";
import { withLockFile } from "../../../core/util/process-lock.ts";

/** The logins of a profile: cookies and what pages have stored. Only one process at a time holds a profile. */
export interface Profile {
  /** Options of a context that begins with the logins. */
  restored(): Promise<Pick<BrowserContextOptions, "storageState">>;
  /** Keeps the logins of a context. Of several contexts the last one counts. */
  save(context: BrowserContext): Promise<void>;
  /** Lets another process use the profile. */
  release(): Promise<void>;
}

/** How long to wait for a profile that another process uses, in milliseconds. */
const PATIENCE_MS = 2_000;

/**
 * Takes a profile.
 *
 * @throws ToolFailure when another process uses it.
 */
export async function openProfile(folder: string, name: string): Promise<Profile> {
  const profiles = join(folder, "profiles");
  await makePrivateFolder(profiles);
  const file = join(profiles, `${name}.json`);
  const what = `the browser profile ${name}`;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let held: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    held = withLockFile(`${file}.lock`, what, () => (resolve(), released), PATIENCE_MS).catch((error: unknown) => {
      reject(
        new ToolFailure(messageOf(error), {
          hint: "Only one process can use a profile. Close the other, or set browser.profile.",
        }),
      );
    });
  });
  return {
    async restored() {
      try {
        return { storageState: JSON.parse(await readFile(file, "utf8")) };
      } catch (error) {
        if (isMissing(error)) return {};
        throw new ToolFailure(`${what} cannot be read: ${messageOf(error)}`, {
          hint: `Remove ${file} to start it anew.`,
        });
      }
    },
    async save(context) {
      await replacePrivateFile(
        profiles,
        `${name}.json`,
        JSON.stringify(await context.storageState({ indexedDB: true })),
      );
    },
    async release() {
      release();
      await held;
    },
  };
}
