import { optionValues, subcommandOf } from "./found-words.ts";
import { isListedProgram } from "./reasons.ts";
import { type FoundCommand, nameOf } from "./search.ts";
import { SENDING, SENDS } from "./sending.ts";
import { editor, isWrapper } from "./wrapped.ts";
import { startsProgram } from "../../git/settings.ts";
import { EDITORS, SHELLS, expandNames } from "./wrappers.ts";

/** Why a command is of high risk wherever it runs; `undefined`: it is not. */
export function highRisk(command: FoundCommand): string | undefined {
  const { words } = command;
  const name = nameOf(command);
  const why = BY_NAME.get(name) ?? (name.startsWith("mkfs.") ? DISKS : undefined);
  if (why !== undefined)
    return words.length === 2 && /^(--version|--help)$/.test(words[1]?.value ?? "") ? undefined : why;
  if (command.hidden && isInterpreter(name)) return "an option or a setting starts an interpreter";
  const given = words.find(({ prefix }) => prefix.startsWith("ext::"));
  if (name === "git" && given !== undefined) return `${given.text} makes git run a command`;
  return download(command, name) ?? BY_WORDS.get(name)?.(command) ?? runsPrivileged(command);
}

/** The name of a privileged program and words for it, behind a program that may run them: `newtool sudo id`. */
function runsPrivileged(command: FoundCommand): string | undefined {
  if (!mayRunWords(nameOf(command))) return undefined;
  const given = command.words.slice(1, -1).map(({ value = "" }) => value.slice(value.lastIndexOf("/") + 1));
  return given.some((name) => BY_NAME.get(name) === AS_ANOTHER) ? AS_ANOTHER : undefined;
}

/** Whether the program is unknown, or known to run its words. The search finds commands behind wrappers. */
export function mayRunWords(name: string): boolean {
  return name !== "" && (/^(tmux|screen|expect)$/.test(name) || (!isListedProgram(name) && !isWrapper(name)));
}

export function isHighProgram(name: string): boolean {
  return BY_NAME.has(name) || BY_WORDS.has(name);
}

const AS_ANOTHER = "it runs commands as another user, or outside this environment";
const INSTALLED = "it changes programs of the system";
const DOWNLOADED = "it runs what was downloaded";
const WHATEVER = "it runs whatever it reads; write the script itself, or in a file of the workspace";
const DISKS = "it changes disks";
const DEVICE = "it writes to a device";
const SYSTEM = "it stops or changes the system";
const SERVICES = "it changes the services of the system";
const NETWORK = "it changes the network";
const LOGS = "it removes logs";
const RUNS_ON = "it starts work that continues unattended";
const AS_OWNER = "it lets others run the file with its owner's rights";

const BLOCKED: { readonly [why: string]: string } = {
  [AS_ANOTHER]: `
    sudo sudoedit doas su pkexec run0 gosu su-exec setuidgid chpst runuser sg newgrp chroot nsenter unshare setpriv
    capsh machinectl`,
  [DISKS]: `
    mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk parted wipefs blkdiscard hdparm losetup cryptsetup mount umount
    swapon swapoff fsck mdadm lvm lvremove vgremove pvremove diskutil`,
  [SYSTEM]: "shutdown reboot halt poweroff telinit kexec modprobe insmod rmmod update-rc.d hwclock",
  "it changes users or rights": `
    useradd userdel usermod adduser deluser groupadd groupdel groupmod passwd chpasswd gpasswd chsh chfn visudo vipw
    setcap chattr`,
  "it changes the firewall": "iptables ip6tables nft ufw firewall-cmd pfctl",
  [SENDS]: `
    ncat netcat socat telnet ftp tftp lftp sftp ssh slogin mosh rclone ssh-copy-id mail mailx sendmail mutt swaks
    ngrok cloudflared`,
  [RUNS_ON]: "at batch systemd-run start-stop-daemon daemonize",
  "it controls other programs of the user": "osascript xdotool ydotool wtype dbus-send gdbus busctl",
  "it ends every process with a given name": "killall",
  "it destroys files beyond recovery": "shred srm",
};

const BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(BLOCKED).flatMap(([why, names]) => Array.from(names.trim().split(/\s+/), (name) => [name, why])),
);

/**
 * Whether the kernel keeps a contained command from the harm: `sudo` gets no rights there, installers find the system
 * read-only, and a program that was downloaded is as contained as one of the workspace. Not removals, which the
 * workspace and granted folders suffer, nor sending, which granted hosts let through.
 */
export function isHeldByKernel(why: string | undefined): boolean {
  return why === AS_ANOTHER || why === INSTALLED || why === DOWNLOADED || why === WHATEVER;
}

export const RAW_DEVICE = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|loop|md\d|mem|kmem|port)/;
const INSTALLS = new RegExp(
  "^(install|reinstall|remove|erase|purge|autoremove|upgrade|(dist|full)-upgrade|add|del|rm|refresh|revert|" +
    String.raw`-(?!S[si]$|Q|q)(?=\w+$)\w*[iUeFSRP].*|--(install|remove|purge|upgrade|erase|unpack|configure)(=.*)?)$`,
);
const SETS_ID = /^([ugoa]*[+=][rwxXt]*s|0?[2-7]\d{3}$)/;

const CHANGING: readonly (readonly [names: string, word: RegExp, why: string])[] = [
  ["dd", new RegExp(RAW_DEVICE.source.replace("^", "^of=")), DEVICE],
  ["cp tee", RAW_DEVICE, DEVICE],
  ["chmod", SETS_ID, AS_OWNER],
  ["init", /^[0-6sS]$/, SYSTEM],
  ["sysctl", /=|^-(w|p|-write|-load)/, "it changes the system"],
  ["ip route", /^(add|del|delete|set|flush|change|replace|append|exec)$/, NETWORK],
  ["ifconfig", /^(up|down|add|del|-?arp|netmask|\d.*)$/, NETWORK],
  ["journalctl", /^--(vacuum|rotate|flush|setup)/, LOGS],
  ["dmesg", /^(-\w*[cC]|--(clear|read-clear))/, LOGS],
  ["apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk snap flatpak port emerge", INSTALLS, INSTALLED],
];

const LOOKING: readonly (readonly [names: string, action: RegExp, why: string])[] = [
  ["systemctl", /^(status|show|cat|help|is-.*|list-.*|get-default|)$/, SERVICES],
  ["launchctl", /^(list|print|help|version)$/, SERVICES],
  ["hostnamectl timedatectl", /^(status|show|list-timezones|)$/, "it changes the system"],
  ["loginctl", /^(list-.*|show-.*|.*-status|)$/, "it changes the system"],
];

type Look = (command: FoundCommand) => string | undefined;

const looks = <T>(table: readonly (readonly [string, RegExp, string])[], look: (pattern: RegExp, why: string) => T) =>
  table.flatMap(([names, pattern, why]) => names.split(" ").map((name) => [name, look(pattern, why)] as const));

const BY_WORDS: ReadonlyMap<string, Look> = new Map([
  ...looks(CHANGING, (pattern, why): Look => ({ words }) => {
    return words.some(({ prefix }, at) => at > 0 && pattern.test(prefix)) ? why : undefined;
  }),
  ...looks(LOOKING, (pattern, why): Look => ({ words }) => {
    const action = words.slice(1).find(({ prefix }) => !prefix.startsWith("-"));
    return pattern.test(action === undefined ? "" : (action.value ?? "?")) ? undefined : why;
  }),
  ...expandNames(SENDING).map(([name, sends]): [string, Look] => {
    return [name, (command) => (sends(command) ? SENDS : undefined)];
  }),
  ...expandNames<Look>({
    [EDITORS]: ({ words }) => (editor(words).length > 0 ? "it makes an editor run a program" : undefined),
    "docker podman nerdctl": container,
    crontab: ({ words: [, ...given] }) => (given.length === 1 && given[0]?.value === "-l" ? undefined : RUNS_ON),
    service: ({ words }) => (/^(status|--status-all)$/.test(words.at(-1)?.value ?? "") ? undefined : SERVICES),
    kill: ({ words }) => {
      const [signal, ...more] = words.slice(1).map(({ value }) => value);
      const pids = signal === "-s" || signal === "-n" ? more.slice(1) : more;
      return pids.includes("-1") ? "it ends every process" : undefined;
    },
    install: ({ words }) =>
      optionValues(words, "-m --mode").some(({ prefix }) => SETS_ID.test(prefix)) ? AS_OWNER : undefined,
    git: ({ words }) => {
      const setting = optionValues(words, "-c --config-env").find(({ prefix }) => {
        const [key = "", value = ""] = prefix.split(/=(.*)/s);
        return startsProgram(key) && !isOff(value);
      });
      return setting === undefined ? undefined : `the setting ${setting.text} makes git run a program`;
    },
  }),
]);

/** Values that switch a helper off, or name one that starts nothing. */
function isOff(value: string): boolean {
  return /^(|true|false|0|1|:|cat|less( -\w+)*|more|\/dev\/null)$/i.test(value);
}

const LOADING = /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS[04])$/;
const HELPER = new RegExp(
  "PAGER$|EDITOR$|^(VISUAL|BROWSER|LESSOPEN|LESSCLOSE|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|(GIT|SSH|SUDO)_ASKPASS|" +
    "GIT_PROXY_COMMAND)$",
);
/** Editors, pagers and `ssh` with options that name no program. */
const PLAIN_HELPER = new RegExp(
  String.raw`^(vim?|nvim|nano|emacs|ed|code|less|more|bat|delta|ssh|touch|echo)( (-[\w-]+|-i [\w./~-]+|` +
    String.raw`-o (BatchMode|StrictHostKeyChecking|ConnectTimeout|IdentitiesOnly)=\w+))*$`,
);

/** Why a variable makes programs load or start something else, behind a command that looks harmless. */
export function loads({ name, value, text }: FoundCommand["assigns"][number]): string | undefined {
  if (LOADING.test(name) || name.startsWith("BASH_FUNC_"))
    return value === "" ? undefined : `the variable ${name} makes programs load or run something else`;
  // Settings as git gets them from variables: `alias.x`, or `'alias.x=!id' 'a.b'='c'`.
  const isSetting = /^GIT_CONFIG_(KEY_\d+|PARAMETERS)$/.test(name);
  if (isSetting && (value ?? "alias.").split(/[\s']+/).some(startsProgram))
    return `the variable ${name} makes git run a program`;
  if (!HELPER.test(name) || isOff(value ?? "$") || PLAIN_HELPER.test(value ?? "$")) return undefined;
  return `the variable in ${text} names a program that is run`;
}

export const INTERPRETER = /^(python|perl|ruby|node|nodejs|php|lua|deno|bun|Rscript|osascript|pwsh|awk|tclsh)[\d.]*$/;
const DOWNLOADER = /^(curl|wget|aria2c|http|https|xh|fetch|nc|ncat)$/;

function isInterpreter(name: string): boolean {
  return SHELLS.has(name) || INTERPRETER.test(name);
}

/** `curl … | sh`, `sh -c "$(curl …)"`, `… | bash`. */
function download({ words, reads, inWords }: FoundCommand, name: string): string | undefined {
  if (!isInterpreter(name) && !/^(eval|source|\.)$/.test(name)) return undefined;
  if (inWords.some((each) => DOWNLOADER.test(each))) return DOWNLOADED;
  // An interpreter without a program of its own runs what it reads.
  const operands = words.slice(1).filter(({ prefix }) => !/^[-+]./.test(prefix) || /^-\w*[ce]$/.test(prefix));
  const readsProgram = operands.every(({ value }) => /^(-|\/dev\/stdin|\/dev\/fd\/0)$/.test(value ?? ""));
  if (reads.length === 0 || !(readsProgram || words.some(({ value }) => value === "-s"))) return undefined;
  if (SHELLS.has(name)) return WHATEVER;
  return reads.some((each) => DOWNLOADER.test(each)) ? DOWNLOADED : undefined;
}

const SYSTEM_PATH = String.raw`(\/|\/(etc|proc|sys|dev|root|boot|usr|var)(\/[^:,\0]*)?|[^:,\0]*docker\.sock)`;
/** Options that give a container access to this machine, in words with NUL bytes around them. */
const OPENS_MACHINE = new RegExp(
  String.raw`\0(--(privileged|cap-add|device|security-opt)(?![^\0]*=false\0)[=\0]` +
    String.raw`|--(pid|ipc|uts|userns|cgroupns)[=\0]host\0|(-[itdPq]*v|--volume)[=\0]?${SYSTEM_PATH}[:\0]` +
    String.raw`|--mount[=\0]([^\0]*,)?(source|src)=${SYSTEM_PATH}[,\0])`,
);

function container({ words }: FoundCommand): string | undefined {
  const text = words.map(({ prefix }) => `\0${prefix}`).join("");
  if (OPENS_MACHINE.test(`${text}\0`)) return "it gives the container access to this machine";
  const subcommand = subcommandOf(words)?.value ?? "";
  return /^(swarm|plugin|unshare|checkpoint)$/.test(subcommand) ? "it changes the container engine" : undefined;
}
