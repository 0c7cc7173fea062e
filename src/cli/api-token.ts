import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stateFolder } from "../app/config/state.ts";
import { randomName } from "../core/util/identifier.ts";
import { hasCode } from "../core/util/private-file.ts";
import type { Io } from "./io.ts";

/** The length of a token: 32 bytes in base64url. */
const LENGTH = 43;

/**
 * The path of the token file, in the state folder. No tool can read it, and no contained command can see it. Removing
 * it renews the token.
 */
export function tokenFile(io: Io): string {
  return join(stateFolder(io.env), "api-token");
}

/**
 * Returns the token of the API and of MCP over HTTP. Creates it if there is none: the file appears whole or not at all.
 *
 * @throws Error when the file cannot be written, or is empty or too short; it names the fix.
 */
export function apiToken(io: Io): string {
  const file = tokenFile(io);
  const folder = stateFolder(io.env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const token = read(file) ?? made(folder, file);
  if (token.length >= LENGTH) return token;
  throw new Error(
    `the token file ${file} is empty or too short (${token.length} of ${LENGTH} characters), as a full disk leaves ` +
      "it. Remove it: the next start makes a new token",
  );
}

function made(folder: string, file: string): string {
  const temporary = join(folder, `.${randomName(16)}`);
  try {
    writeFileSync(temporary, `${randomBytes(32).toString("base64url")}\n`, { flag: "wx", mode: 0o600, flush: true });
    linkSync(temporary, file); // fails if another process was first
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return read(file) ?? "";
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
