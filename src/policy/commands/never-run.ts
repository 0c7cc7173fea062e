import { posix } from "node:path";
import { absolutePath, isInside } from "../../util/paths.ts";
import { type FoundCommand, type FoundScript, nameOf } from "./found.ts";
import type { FoundWord } from "./found-words.ts";
import { isListedProgram } from "./reasons.ts";
import { EDITORS, GIT_PROGRAM_SETTING, SHELLS, editor, isWrapper, optionValues, subcommandOf } from "./wrapped.ts";

/** Something in a script that is never run. */
interface NeverRun {
  /** As it is written. */
  readonly text: string;
  readonly why: string;
  /** The command, where it is one: a rule of a person's that names it allows it. */
  readonly command?: FoundCommand;
  /** True: it would answer for a person. Nothing allows it. */
  readonly answersForPerson?: true;
}

interface NeverRunContext {
  readonly workDir: string;
  readonly home: string;
  /** Where the script starts, absolute. Default: the workspace. */
  readonly cwd?: string | undefined;
  /** Folders in which something may be removed, absolute: the workspace, allowed roots. */
  readonly open: readonly string[];
}

/** What of a script is never run, in its order: privilege, destruction beyond the workspace, sending data out, and answers for a person. */
export function neverRun(found: FoundScript, context: NeverRunContext): readonly NeverRun[] {
  const { commands, redirections } = found;
  const parts = commands.flatMap((command): readonly NeverRun[] => {
    const { text } = command;
    if (answersForPerson(command)) {
      return [
        { text, command, answersForPerson: true, why: "it would answer for a person; a person runs it in a terminal" },
      ];
    }
    const variable = command.assigns.map(loads).find((each) => each !== undefined);
    if (variable !== undefined) return [{ text, why: variable }];
    const why = highRisk(command) ?? destroys(command, context) ?? forks(command, commands);
    return why === undefined ? [] : [{ text, why, command }];
  });
  const files = redirections.flatMap(({ target, text, use }): readonly NeverRun[] => {
    const path = posix.normalize(target.prefix);
    if (/^\/dev\/(tcp|udp)\//.test(path)) return [{ text, why: "it reaches the network" }];
    return use === "write" && RAW_DEVICE.test(path) ? [{ text, why: "it writes to a device" }] : [];
  });
  return [...parts, ...files];
}

/** Why a command is of high risk wherever it runs; `undefined`: it is not. */
export function highRisk(command: FoundCommand): string | undefined {
  const name = nameOf(command);
  const why = BY_NAME.get(name) ?? (name.startsWith("mkfs.") ? DISKS : undefined);
  if (why !== undefined) return isVersion(command) ? undefined : why;
  if (command.hidden && isInterpreter(name)) return "an option or a setting starts an interpreter";
  const given = command.words.find(({ prefix }) => prefix.startsWith("ext::"));
  if (name === "git" && given !== undefined) return `${given.text} makes git run a command`;
  return download(command, name) ?? BY_WORDS.get(name)?.(command) ?? runsPrivileged(command);
}

/** The name of a privileged program and words for it, behind a program that may run them: `newtool sudo id`. */
function runsPrivileged(command: FoundCommand): string | undefined {
  if (!mayRunWords(nameOf(command))) return undefined;
  const given = command.words.slice(1, -1).map(({ value = "" }) => value.slice(value.lastIndexOf("/") + 1));
  return given.some((name) => BY_NAME.get(name) === AS_ANOTHER) ? AS_ANOTHER : undefined;
}

/** Nothing is known of the program, or that it runs what its words name. What wrappers run is found by itself. */
function mayRunWords(name: string): boolean {
  return name !== "" && (/^(tmux|screen|expect)$/.test(name) || (!isListedProgram(name) && !isWrapper(name)));
}

/** True when something is known of a program of this name here. */
export function isHighProgram(name: string): boolean {
  return BY_NAME.has(name) || BY_WORDS.has(name) || REMOVERS.has(name);
}

const AS_ANOTHER = "it runs commands as another user, or outside of here";
const DISKS = "it changes disks";
const SENDS = "it sends data to other machines";
const RUNS_ON = "what it starts runs on without anyone watching";

/** Programs of high risk, whatever their words. */
const BLOCKED: { readonly [why: string]: string } = {
  [AS_ANOTHER]:
    "sudo sudoedit doas su pkexec run0 gosu su-exec setuidgid chpst runuser sg newgrp chroot nsenter unshare setpriv capsh machinectl",
  [DISKS]:
    "mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk parted wipefs blkdiscard hdparm losetup cryptsetup mount umount swapon " +
    "swapoff fsck mdadm lvm lvremove vgremove pvremove diskutil",
  "it stops or changes the system":
    "shutdown reboot halt poweroff telinit kexec modprobe insmod rmmod update-rc.d hwclock",
  "it changes users or rights":
    "useradd userdel usermod adduser deluser groupadd groupdel groupmod passwd chpasswd gpasswd chsh chfn visudo vipw setcap chattr",
  "it changes the firewall": "iptables ip6tables nft ufw firewall-cmd pfctl",
  [SENDS]:
    "ncat netcat socat telnet ftp tftp lftp sftp ssh slogin mosh rclone ssh-copy-id mail mailx sendmail mutt swaks ngrok cloudflared",
  [RUNS_ON]: "at batch systemd-run start-stop-daemon daemonize",
  "it acts through other programs of a person": "osascript xdotool ydotool wtype dbus-send gdbus busctl",
  "it ends every process of a name": "killall",
  "it destroys files beyond recovery": "shred srm",
};

const BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(BLOCKED).flatMap(([why, names]) => names.split(" ").map((name) => [name, why] as const)),
);

type Look = (command: FoundCommand) => string | undefined;

const RAW_DEVICE = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|loop|md\d|mem|kmem|port)/;
const INSTALLS =
  /^(install|reinstall|remove|erase|purge|autoremove|upgrade|(dist|full)-upgrade|add|del|rm|refresh|revert|-(?!S[si]$|Q|q)(?=\w+$)\w*[iUeFSRP].*|--(install|remove|purge|upgrade|erase|unpack|configure)(=.*)?)$/;

/** A mode with which a file runs with the rights of its owner or group. */
const SETS_ID = /^([ugoa]*[+=][rwxXt]*s|0?[2-7]\d{3}$)/;
const AS_OWNER = "it lets others run the file with its owner's rights";

/** Programs that are of high risk when one of their words is such a one. */
const CHANGING: readonly (readonly [names: string, word: RegExp, why: string])[] = [
  ["dd", new RegExp(RAW_DEVICE.source.replace("^", "^of=")), "it writes to a device"],
  ["cp tee", RAW_DEVICE, "it writes to a device"],
  ["chmod", SETS_ID, AS_OWNER],
  ["init", /^[0-6sS]$/, "it stops or changes the system"],
  ["sysctl", /=|^-(w|p|-write|-load)/, "it changes the system"],
  ["ip route", /^(add|del|delete|set|flush|change|replace|append|exec)$/, "it changes the network"],
  ["ifconfig", /^(up|down|add|del|-?arp|netmask|\d.*)$/, "it changes the network"],
  ["journalctl", /^--(vacuum|rotate|flush|setup)/, "it removes logs"],
  ["dmesg", /^(-\w*[cC]|--(clear|read-clear))/, "it removes logs"],
  [
    "apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk snap flatpak port emerge",
    INSTALLS,
    "it changes programs of the system",
  ],
];

/** Programs that are of high risk unless their first operand is such a one. */
const LOOKING: readonly (readonly [names: string, action: RegExp, why: string])[] = [
  ["systemctl", /^(status|show|cat|help|is-.*|list-.*|get-default|)$/, "it changes the services of the system"],
  ["launchctl", /^(list|print|help|version)$/, "it changes the services of the system"],
  ["hostnamectl timedatectl", /^(status|show|list-timezones|)$/, "it changes the system"],
  ["loginctl", /^(list-.*|show-.*|.*-status|)$/, "it changes the system"],
];

const looks = <T>(table: readonly (readonly [string, RegExp, string])[], look: (pattern: RegExp, why: string) => T) =>
  table.flatMap(([names, pattern, why]) => names.split(" ").map((name) => [name, look(pattern, why)] as const));

/** Programs of which the words decide. */
const BY_WORDS: ReadonlyMap<string, Look> = new Map([
  ...looks(CHANGING, (pattern, why): Look => ({ words }) => {
    return words.some(({ prefix }, at) => at > 0 && pattern.test(prefix)) ? why : undefined;
  }),
  ...looks(LOOKING, (pattern, why): Look => ({ words }) => {
    const action = words.slice(1).find(({ prefix }) => !prefix.startsWith("-"));
    return pattern.test(action === undefined ? "" : (action.value ?? "?")) ? undefined : why;
  }),
  ...Object.entries<Look>({
    curl: (command) => (sendsByCurl(command) && !isLocal(command, CURL) ? SENDS : undefined),
    wget: (command) => {
      const sends = command.words.some(({ prefix }) => /^--(post|body)|^--method=?(?!get|head)/i.test(prefix));
      return sends && !isLocal(command, WGET) ? SENDS : undefined;
    },
    http: sendsByHttpie,
    https: sendsByHttpie,
    xh: sendsByHttpie,
    // A look whether a port of this machine is open.
    nc: (command) => {
      const words = command.words.filter(({ value = "" }) => !/^\d+(-\d+)?$/.test(value));
      return words.some(({ prefix }) => /^-\w*z/.test(prefix)) && isLocal({ ...command, words }) ? undefined : SENDS;
    },
    scp: ({ words }) => (hasHost(words) ? SENDS : undefined),
    rsync: ({ words }) => (hasHost(words) ? SENDS : undefined),
    crontab: ({ words: [, ...given] }) => (given.length === 1 && given[0]?.value === "-l" ? undefined : RUNS_ON),
    service: ({ words }) =>
      /^(status|--status-all)$/.test(words.at(-1)?.value ?? "") ? undefined : "it changes the services of the system",
    kill: ({ words }) => {
      const [signal, ...more] = words.slice(1).map(({ value }) => value);
      const pids = signal === "-s" || signal === "-n" ? more.slice(1) : more;
      return pids.includes("-1") ? "it ends every process" : undefined;
    },
    install: ({ words }) =>
      optionValues(words, "-m --mode").some(({ prefix }) => SETS_ID.test(prefix)) ? AS_OWNER : undefined,
    docker: container,
    podman: container,
    nerdctl: container,
    git: ({ words }) => {
      const setting = optionValues(words, "-c --config-env").find(({ prefix }) => {
        const [key = "", value = ""] = prefix.split(/=(.*)/s);
        return GIT_PROGRAM_SETTING.test(key) && !isOff(value);
      });
      return setting === undefined ? undefined : `the setting ${setting.text} makes git run a program`;
    },
  }),
  ...EDITORS.map((name): [string, Look] => {
    return [name, ({ words }) => (editor(words).length > 0 ? "it makes an editor run a program" : undefined)];
  }),
]);

/** Values that switch a helper off, or name one that starts nothing. */
function isOff(value: string): boolean {
  return /^(|true|false|0|1|:|cat|less( -\w+)*|more|\/dev\/null)$/i.test(value);
}

/** Variables through which a program loads or starts something else, hidden behind a command that looks harmless. */
function loads({ name, value, text }: FoundCommand["assigns"][number]): string | undefined {
  if (
    /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS[04]|BASH_FUNC_.*)$/.test(
      name,
    )
  ) {
    return value === "" ? undefined : `the variable ${name} makes programs load or run something else`;
  }
  if (/^GIT_CONFIG_(KEY_\d+|PARAMETERS)$/.test(name) && runsProgram(value ?? "alias.")) {
    return `the variable ${name} makes git run a program`;
  }
  const isProgram =
    /PAGER$|EDITOR$|^(VISUAL|BROWSER|LESSOPEN|LESSCLOSE|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|(GIT|SSH|SUDO)_ASKPASS|GIT_PROXY_COMMAND)$/;
  if (!isProgram.test(name) || isOff(value ?? "$") || PLAIN_HELPER.test(value ?? "$")) return undefined;
  return `the variable in ${text} names a program that is run`;
}

/** Settings as git gets them from variables: `alias.x`, or `'alias.x=!id' 'a.b'='c'`. */
function runsProgram(settings: string): boolean {
  return settings.split(/[\s']+/).some((each) => GIT_PROGRAM_SETTING.test(each));
}

/** Editors, pagers and `ssh` with options that name no program. */
const PLAIN_HELPER =
  /^(vim?|nvim|nano|emacs|ed|code|less|more|bat|delta|ssh|touch|echo)( (-[\w-]+|-i [\w./~-]+|-o (BatchMode|StrictHostKeyChecking|ConnectTimeout|IdentitiesOnly)=\w+))*$/;

const INTERPRETER = /^(python|perl|ruby|node|nodejs|php|lua|deno|bun|Rscript|osascript|pwsh|awk|tclsh)[\d.]*$/;
const DOWNLOADER = /^(curl|wget|aria2c|http|https|xh|fetch|nc|ncat)$/;

function isInterpreter(name: string): boolean {
  return SHELLS.has(name) || INTERPRETER.test(name);
}

/** `curl … | sh`, `sh -c "$(curl …)"`, `… | bash`. */
function download(command: FoundCommand, name: string): string | undefined {
  const { words, reads, inWords } = command;
  const evaluates = isInterpreter(name) || /^(eval|source|\.)$/.test(name);
  if (!evaluates) return undefined;
  if (inWords.some((each) => DOWNLOADER.test(each))) return "it runs what was downloaded";
  // An interpreter without a program of its own runs what it reads.
  const operands = words.slice(1).filter(({ prefix }) => !/^[-+]./.test(prefix) || /^-\w*[ce]$/.test(prefix));
  const readsProgram = operands.every(({ value }) => /^(-|\/dev\/stdin|\/dev\/fd\/0)$/.test(value ?? ""));
  if (reads.length === 0 || !(readsProgram || words.some(({ value }) => value === "-s"))) return undefined;
  if (SHELLS.has(name)) return "it runs whatever it reads; write the script itself, or in a file of the workspace";
  return reads.some((each) => DOWNLOADER.test(each)) ? "it runs what was downloaded" : undefined;
}

/** A server of this machine, by a name or address that is nobody else's. */
const LOOPBACK = /^([a-z]+:\/\/)?(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|::1)(:\d{1,5})?([/?#][^\s\\@]*)?$/i;

/** Options of a program that asks servers. */
interface Options {
  /** The next word is their value, and no server. */
  readonly values: RegExp;
  /** They lead to another server than the one that is named. */
  readonly leadAway: RegExp;
}

/** One of the `wanted` letters behind letters that take no value. `letters` are all that take one. */
const shortOption = (letters: string, wanted = letters): string => `-(?:#|[^\\W${letters}])*[${wanted}]`;

const CURL_LETTERS = "AbcCdDeEFHKmoPQrtTuUwxXyYz";
const CURL: Options = {
  values: new RegExp(
    `^(${shortOption(CURL_LETTERS)}|--(data(-ascii|-binary|-raw|-urlencode)?|form(-string)?|json|url-query|header|user|user-agent|` +
      "request|request-target|output|output-dir|referer|cookie|cookie-jar|write-out|max-time|connect-timeout|retry|retry-delay|" +
      "retry-max-time|cert|key|cacert|capath|range|limit-rate|upload-file|dump-header|max-redirs|speed-time|speed-limit|" +
      "unix-socket|stderr|trace|trace-ascii|netrc-file|oauth2-bearer|continue-at|max-filesize|noproxy))$",
  ),
  leadAway: new RegExp(`^(${shortOption(CURL_LETTERS, "xK")}|--(connect-to|resolve|proxy|preproxy|socks|config))`),
};
const WGET: Options = {
  values: new RegExp(
    `^(${shortOption("OoPaUetTwQRAlXIDBi")}|--(post-data|post-file|body-data|body-file|method|header|output-document|output-file|` +
      "timeout|tries|user|password|user-agent|referer|directory-prefix|wait))$",
  ),
  leadAway: /^(-e|--execute)/,
};
const HTTPIE: Options = {
  values: /^(-[aAosp]|--(auth|auth-type|output|session|print|timeout|verify))$/,
  leadAway: /^--proxy/,
};

/** Every operand is a server of this machine. */
function isLocal({ words, assigns }: FoundCommand, { values, leadAway }: Partial<Options> = {}): boolean {
  if (assigns.some(({ name }) => /_proxy$/i.test(name))) return false;
  if (leadAway !== undefined && words.some(({ prefix }) => leadAway.test(prefix))) return false;
  const servers = words.filter(({ prefix }, at) => {
    return at > 0 && !prefix.startsWith("-") && values?.test(words[at - 1]?.prefix ?? "") !== true;
  });
  return servers.length > 0 && servers.every(({ value }) => LOOPBACK.test(value ?? ""));
}

const CURL_SENDS = new RegExp(`^-(?:#|[^\\W${CURL_LETTERS}])*([dFTX])(.*)$`, "s");

function sendsByCurl({ words }: FoundCommand): boolean {
  return words.slice(1).some(({ prefix }, at) => {
    if (/^--(data|form|upload|json|url-query|mail|post)/.test(prefix) || /^--(da|for|up|js)\w*/.test(prefix))
      return true;
    if (prefix.startsWith("--req")) return isSendingMethod(prefix.split("=")[1] ?? words[at + 2]?.prefix ?? "");
    const short = CURL_SENDS.exec(prefix);
    if (short === null) return false;
    return short[1] !== "X" || isSendingMethod(short[2] || (words[at + 2]?.prefix ?? ""));
  });
}

function isSendingMethod(method: string): boolean {
  return !/^(GET|HEAD|OPTIONS)$/i.test(method);
}

function sendsByHttpie(command: FoundCommand): string | undefined {
  const { words } = command;
  const sends = words
    .slice(1)
    .some(({ prefix }) => /^(POST|PUT|PATCH|DELETE)$/.test(prefix) || /^[\w-]+(:?=|@)/.test(prefix));
  // Behind the server there are fields and headers.
  const isServer = ({ prefix }: FoundWord, at: number) =>
    at > 0 && !/^(-|[A-Z]+$)/.test(prefix) && !HTTPIE.values.test(words[at - 1]?.prefix ?? "");
  const upTo = words.slice(0, words.findIndex(isServer) + 1).filter(({ prefix }) => !/^[A-Z]+$/.test(prefix));
  return sends && !isLocal({ ...command, words: upTo }, HTTPIE) ? SENDS : undefined;
}

/** `host:path` or `user@host:path`, or `rsync://`. */
function hasHost(words: readonly FoundWord[]): boolean {
  return words.slice(1).some(({ prefix }) => /^[^-/.][^/]*:/.test(prefix));
}

/** What gives a container this machine. */
function container({ words }: FoundCommand): string | undefined {
  const option = words.find(({ prefix }, at) => {
    const next = words[at + 1]?.prefix ?? "";
    if (/^--(privileged|cap-add|device|security-opt)(=|$)/.test(prefix)) return !prefix.endsWith("=false");
    if (/^--(pid|ipc|uts|userns|cgroupns)(=host|$)/.test(prefix)) return prefix.endsWith("=host") || next === "host";
    const [mount, glued = ""] = /^(?:-[itdPq]*v=?|--volume=?|--mount=?)(.*)$/s.exec(prefix) ?? [];
    const mounted = glued === "" ? next : glued;
    const source = prefix.startsWith("--mount") ? /(?:source|src)=([^,]*)/.exec(mounted)?.[1] : mounted.split(":")[0];
    return (
      mount !== undefined && /^(\/|\/(etc|proc|sys|dev|root|boot|usr|var)(\/.*)?|.*docker\.sock)$/.test(source ?? "")
    );
  });
  if (option !== undefined) return `${option.text} gives the container this machine`;
  const subcommand = subcommandOf(words)?.value ?? "";
  return /^(swarm|plugin|unshare|checkpoint)$/.test(subcommand) ? "it changes the container engine" : undefined;
}

function isVersion({ words }: FoundCommand): boolean {
  return words.length === 2 && /^(--version|--help)$/.test(words[1]?.value ?? "");
}

const REMOVERS = new Set(["rm", "rmdir", "unlink", "rimraf", "trash", "shred", "srm"]);

/** Why a removal reaches beyond what may be removed. What is known of a path decides: `rm -rf "$x"` is a question, `rm -rf /$x` is not. */
function destroys(command: FoundCommand, context: NeverRunContext): string | undefined {
  const name = nameOf(command);
  const operands = command.words.slice(1).filter(({ prefix }) => !prefix.startsWith("-"));
  if (REMOVERS.has(name)) {
    if (command.words.some(({ value }) => value === "--no-preserve-root")) return "it may remove the whole file system";
    const end = command.words.findIndex(({ value }) => value === "--");
    const dashed = end === -1 ? [] : command.words.slice(end + 1);
    const path = [...operands, ...dashed].find((word) => isBeyond(word, command, context, true));
    return path === undefined ? undefined : `it removes ${path.text}, which is not inside the workspace`;
  }
  if (name !== "find" && name !== "fd") return undefined;
  const removes = command.words.some(({ value }, at) => {
    return (
      value === "-delete" || (REMOVERS.has(value ?? "") && /^-(exec|ok|x|X)/.test(command.words[at - 1]?.value ?? ""))
    );
  });
  if (!removes) return undefined;
  const first = command.words.findIndex(
    ({ prefix }, at) => at > 0 && /^[-(!]/.test(prefix) && !/^-[HLP]$/.test(prefix),
  );
  const starts = command.words.slice(1, first === -1 ? undefined : first);
  const start = starts.find((word) => isBeyond(word, command, context, false));
  return start === undefined
    ? undefined
    : `it removes what it finds in ${start.text}, which is not inside the workspace`;
}

/** Outside of all open folders; with `wholly` also one of them itself, or all that is in it (`*`). */
function isBeyond(word: FoundWord, { folder }: FoundCommand, context: NeverRunContext, wholly: boolean): boolean {
  const { workDir, home, cwd = workDir, open } = context;
  const all = /^(.*\/)?(\*|\.\*|\.\?\?\*|\{\*,\.\*\}|\.\[!\.\]\*)$/s.exec(word.value === undefined ? word.text : "");
  const isAll = all !== null && word.prefix === (all[1] ?? "") + (all[2]?.startsWith(".") ? "." : "");
  const known = word.value ?? word.prefix.slice(0, word.prefix.lastIndexOf("/") + 1);
  if (known === "" && !isAll) return false;
  if (folder === undefined && !known.startsWith("/")) return false;
  const path = absolutePath(known === "" ? "." : known, {
    workDir: absolutePath(folder ?? "", { workDir: cwd, home }),
    home,
  });
  const holder = open.find((each) => isInside(path, each));
  if (holder === undefined) return true;
  return wholly && path === holder && (word.value !== undefined || isAll);
}

/** A function that starts itself twice: a fork bomb. */
function forks(command: FoundCommand, commands: readonly FoundCommand[]): string | undefined {
  const { inFunction } = command;
  if (inFunction === undefined || nameOf(command) !== inFunction) return undefined;
  const own = commands.filter((each) => each.inFunction === inFunction && nameOf(each) === inFunction);
  return own.length > 1 ? "a function that starts itself twice fills the machine with processes" : undefined;
}

/** `handrail` with a word that is one of these commands, wherever it stands, or with `--yes`; also as a script of the package. */
function answersForPerson(command: FoundCommand): boolean {
  const { words } = command;
  const isOurs = ({ value, prefix, text }: FoundWord, index: number) =>
    /(^|\/)handrail(@[^/]*)?(\.[cm]?js)?$|\/handrail\/(dist|src|bin)\/[^/]+$/.test(prefix) ||
    // `$(command -v handrail)`
    (index === 0 && value === undefined && text.includes("handrail"));
  const at = words.findIndex(
    (word, index) =>
      isOurs(word, index) && (index === 0 || INTERPRETER.test(nameOf(command)) || mayRunWords(nameOf(command))),
  );
  if (at === -1) return false;
  const given = words
    .slice(at + 1)
    .filter((_, index, all) => !/^--(command|path|url)$/.test(all[index - 1]?.prefix ?? ""));
  const isOther = given.some(({ value = "" }) => /^(tools|call|mcp|check|jobs|doctor)$/.test(value));
  return given.some(({ value }) => {
    return value === undefined ? !isOther : /^(approvals|trust|serve|grants|--yes)$/.test(value);
  });
}
