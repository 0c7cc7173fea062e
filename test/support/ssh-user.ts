// Whom tests log in as over ssh.
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { withLockAsync } from "../../scripts/lib/lock.mjs";
import { output } from "./ended.ts";
import { installed } from "./here.ts";
import { keep, keptFolder } from "./keeper.ts";

export type LoginShell = "bash" | "dash" | "busybox" | "zsh";

export interface User {
  readonly name: string;
  readonly home: string;
  /** Whoever has the key of one in it may log in. */
  readonly authorizedKeysFile: string;
  /** Writes the one public key that may. */
  authorize(publicKey: string): void;
  /** Writes a file of theirs, with its folders: `write(".profile", "…")`. */
  write(path: string, content: string): void;
  remove(): Promise<void>;
}

/**
 * An ordinary user of their own name, with the system's usual home. When they go (`remove`, or else with the run), so does everything
 * that runs as them, and their home.
 */
export async function ownUser(loginShell: LoginShell): Promise<User> {
  const name = `handrail-test-${randomBytes(4).toString("hex")}`;
  const home = `/home/${name}`;
  const folder = keptFolder("ssh-user");
  const kept = await keep({
    folder,
    // -1 is every process that they may signal: all of theirs, at one moment. Then their name can go.
    end: `setpriv --reuid "$user" --clear-groups sh -c 'kill -KILL -1'; userdel --force --remove "$user"`,
    env: { user: name },
  });
  const shell = loginShell === "busybox" ? `${home}/.ssh/ash` : (installed(loginShell) ?? loginShell);
  // Without a password, but not locked: sshd lets nobody in who is, whatever their key.
  const account = ["--create-home", "--home-dir", home, "--shell", shell, "--password", "*"];
  await withLockAsync("users of the system", () => output(["useradd", ...account, name]));
  const uid = Number(await output(["id", "-u", name]));
  const gid = Number(await output(["id", "-g", name]));
  const ssh = join(home, ".ssh");
  mkdirSync(ssh, { mode: 0o700 });
  chownSync(ssh, uid, gid);
  if (loginShell === "busybox") symlinkSync(installed("busybox") ?? "busybox", shell);
  const write = (path: string, content: string) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chownSync(file, uid, gid);
  };
  return {
    name,
    home,
    authorizedKeysFile: join(ssh, "authorized_keys"),
    authorize: (publicKey) => write(".ssh/authorized_keys", publicKey),
    write,
    remove: () => kept.release(),
  };
}

/** Who runs the tests; nothing in their home is touched. */
export function currentUser(): User {
  const folder = keptFolder("ssh-user");
  chmodSync(folder, 0o700);
  const authorizedKeysFile = join(folder, "authorized_keys");
  return {
    name: userInfo().username,
    home: userInfo().homedir, // sshd takes no notice of $HOME
    authorizedKeysFile,
    authorize: (publicKey) => writeFileSync(authorizedKeysFile, publicKey),
    write(path) {
      throw new Error(`${path} would be written into the home of who runs the tests`);
    },
    remove: async () => undefined,
  };
}
