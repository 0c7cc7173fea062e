import type { Risk } from "../../core/contract/decision.ts";

/*
 * What programs do: the only such table for commands. It describes commands to people and finds what is never run; it
 * proves nothing (docs/decisions/0016). What runs unasked outside the sandbox is in `plain/programs.ts`.
 */

export interface CommandRisk {
  readonly risk: Risk;
  /** What the program does, as the end of a sentence that begins with "it". */
  readonly why: string;
}

/** Programs by what they do, in the question's words. A line lists programs or subcommands (`git: add commit`). */
interface Words {
  readonly [why: string]: string;
}

const LOW: Words = {
  "only looks": `
    ls dir tree cat tac nl rev head tail wc du df stat file readlink realpath od hexdump xxd strings
    grep egrep fgrep zgrep rg ag find fd fdfind which whereis type less more bat batcat zcat bzcat xzcat
    diff cmp comm join sha1sum sha256sum sha512sum md5sum cksum nm objdump readelf size ldd test [
    apropos whatis tldr ack dpkg-query apt-cache
    free uptime nproc whoami id groups uname hostname date pwd basename dirname arch tty locale cal
    git: status log show diff rev-parse ls-files ls-tree blame describe merge-base shortlog cat-file grep
    git: help version rev-list name-rev show-ref for-each-ref whatchanged diff-tree check-ignore
    npm: ls list explain why root prefix bin
    pnpm: ls list why
    yarn: list why
    pip pip3: list show freeze check
    go: version doc help`,
  "only computes, prints or waits": `
    sort uniq cut tr paste fold column expand fmt seq expr factor numfmt shuf bc dc jq yq base64
    echo printf yes true false sleep :`,
  "changes only this shell": `
    cd pushd popd dirs set shopt unset shift return exit break continue umask ulimit trap wait jobs fg bg disown times
    export declare typeset local readonly let read mapfile readarray getopts alias unalias hash history enable
    builtin command exec eval bind complete compgen`,
};

const MEDIUM: Words = {
  "sends commits to a remote": "git: push",
  "gets commits from a remote": "git: fetch pull clone ls-remote submodule lfs",
  "lists or changes branches, remotes or settings": "git: branch tag remote config reflog",
  "changes the repository or its files": `
    git: add stage clean rm mv init worktree bisect gc prune repack fsck update-ref symbolic-ref filter-branch
    git: archive bundle format-patch`,
  "prints a password": "git: credential",
  "works on a repository": "git svn hg",
  "acts with your account at a service": `
    gh glab az aws gcloud gsutil doctl heroku fly flyctl vercel netlify vault
    kubectl helm oc terraform tofu pulumi ansible ansible-playbook
    npm: publish unpublish login logout owner token access dist-tag`,
  "changes settings that decide which programs run": `
    npm pnpm yarn: config set
    go: env`,
  "formats or checks sources": "gofmt goimports rustfmt clang-format shellcheck shfmt taplo",
  "removes files": "rm rmdir unlink rimraf trash",
  "changes, copies or packs files": `
    cp mv ln mkdir touch tee truncate dd install split mktemp mkfifo patch sponge rename rsync scp
    chmod chown chgrp setfacl tar zip unzip gzip gunzip bzip2 xz zstd 7z rar unrar cpio pax jar`,
  "changes files, or runs what its program says": "sed ed ex awk gawk mawk nawk",
  "asks a server": "curl wget http https xh aria2c fetch",
  "looks at the system, other programs or the network": `
    ps pgrep top htop lsof ss netstat who w last ping dig host nslookup getent printenv arp traceroute
    tcpdump tshark ip ifconfig route nc
    systemctl service launchctl journalctl dmesg sysctl hostnamectl timedatectl loginctl crontab
    apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk snap flatpak port emerge`,
  "asks the first process of the system": "init",
  "ends processes": "kill pkill skill fuser renice",
  "continues after the command": "nohup setsid tmux screen",
  "opens a desktop program": `
    open xdg-open code codium cursor subl idea zed xclip xsel pbcopy pbpaste notify-send`,
  "waits for a person at a terminal": "vim vi nvim view emacs nano pico micro hx man info fzf tig lazygit gdb lldb",
  "works with keys and passwords": "gpg gpg2 age pass op bw security secret-tool ssh-keygen ssh-add ssh-agent openssl",
  "works on a database": "sqlite3 psql mysql mariadb mongosh redis-cli duckdb pg_dump pg_restore mysqldump",
  "runs containers": "docker podman nerdctl docker-compose podman-compose minikube kind",
  "runs a command of Handrail": "handrail",
  "commits, and runs the hooks of the repository": "git: commit am cherry-pick revert merge rebase notes",
  "changes files to those of another commit": "git: checkout switch restore reset stash apply read-tree",
  "runs a script of the project": `
    npm pnpm yarn bun: run run-script test t start stop restart rebuild build
    sh bash dash zsh ksh fish source .`,
  "installs packages, and runs their scripts": `
    npm pnpm yarn: install i ci add update up uninstall remove dedupe link
    pip pip3 uv poetry pipenv pdm hatch rye conda mamba pipx gem brew`,
  "runs a package manager, or a tool that it brings": "npm pnpm yarn bun corepack nvm fnm volta deno npx bunx pnpx uvx",
  "runs a program": `
    node nodejs tsx ts-node python python2 python3 ruby perl php lua julia Rscript R java scala
    tclsh expect elixir erl ghci groovy pwsh`,
  "builds or runs the project": `
    make gmake cmake ctest ninja meson bazel buck scons just task rake gradle mvn ant
    cargo go rustc gcc g++ cc c++ clang clang++ ld ar javac kotlinc swift dotnet zig mix`,
  "runs a tool with the project's configuration and code": `
    vitest jest mocha ava tap playwright cypress nyc c8 rspec phpunit pytest tox nox pre-commit composer bundle
    tsc eslint prettier biome oxlint stylelint webpack vite rollup esbuild next nuxt astro turbo nx lerna
    mypy pyright ruff black isort flake8 pylint golangci-lint staticcheck`,
};

export const AS_ANOTHER = "it runs commands as another user, or outside this environment";
export const INSTALLS = "it changes programs of the system";
export const SENDS = "it sends data to other machines";
export const REMOTE = "it works on another machine, with your keys";
const DISKS = "it changes disks";
const DEVICE = "it writes to a device";
const SYSTEM = "it stops or changes the system";
const SERVICES = "it changes the services of the system";
const NETWORK = "it changes the network";
const LOGS = "it removes logs";
const UNATTENDED = "it starts work that continues unattended";
const AS_OWNER = "it lets others run the file with its owner's rights";
const MACHINE = "it gives the container access to this machine";

/** Programs that are of high risk with any words. */
const HIGH: Words = {
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
    ncat netcat socat telnet ftp tftp lftp rclone ssh-copy-id mail mailx sendmail mutt swaks
    ngrok cloudflared`,
  [REMOTE]: "ssh slogin mosh sftp",
  [UNATTENDED]: "at batch systemd-run start-stop-daemon daemonize",
  "it controls other programs of the user": "osascript xdotool ydotool wtype dbus-send gdbus busctl",
  "it ends every process with a given name": "killall",
  "it destroys files beyond recovery": "shred srm",
};

export const RAW_DEVICE = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|loop|md\d|mem|kmem|port)/;
const DEVICE_PATH = RAW_DEVICE.source.slice(1);
const SETS_ID = String.raw`([ugoa]*[+=][rwxXt]*s|0?[2-7]\d{3})`;
const SYSTEM_PATH = String.raw`(\/|\/(etc|proc|sys|dev|root|boot|usr|var)(\/[^:,\0]*)?|[^:,\0]*docker\.sock)`;

/** A pattern for one word of a command. In the searched text, each word has a NUL byte before and behind it. */
const has = (word: string): RegExp => new RegExp(`\\0(?:${word})\\0`);
/** A pattern for a first operand that is none of these. A missing operand does not match. */
const other = (action: string): RegExp => new RegExp(`^(?!(?:\\0-[^\\0]*)*\\0(?:$|(?:${action})\\0))`);

/** Programs that are of high risk with words like these. */
export const HIGH_WORDS: readonly (readonly [names: string, words: RegExp, why: string])[] = [
  ["dd", has(String.raw`of=${DEVICE_PATH}[^\0]*`), DEVICE],
  ["cp tee", has(String.raw`${DEVICE_PATH}[^\0]*`), DEVICE],
  ["chmod", has(SETS_ID), AS_OWNER],
  ["install", has(String.raw`(-[a-zA-Z]*m\0?|--mo(de?)?[=\0])${SETS_ID}`), AS_OWNER],
  ["init", has("[0-6sS]"), SYSTEM],
  ["sysctl", has(String.raw`[^\0]*=[^\0]*|-(w|p|-write|-load)[^\0]*`), "it changes the system"],
  ["ip route", has("add|del|delete|set|flush|change|replace|append|exec"), NETWORK],
  ["ifconfig", has(String.raw`up|down|add|del|-?arp|netmask|\d[^\0]*`), NETWORK],
  ["journalctl", has(String.raw`--(vacuum|rotate|flush|setup)[^\0]*`), LOGS],
  ["dmesg", has(String.raw`(-\w*[cC]|--(clear|read-clear))[^\0]*`), LOGS],
  [
    "apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk snap flatpak port emerge",
    has(
      "install|reinstall|remove|erase|purge|autoremove|upgrade|(dist|full)-upgrade|add|del|rm|refresh|revert|" +
        String.raw`-(?!S[si]\0|Q|q)(?=\w+\0)\w*[iUeFSRP][^\0]*|` +
        String.raw`--(install|remove|purge|upgrade|erase|unpack|configure)(=[^\0]*)?`,
    ),
    INSTALLS,
  ],
  ["systemctl", other("status|show|cat|help|is-[^\\0]*|list-[^\\0]*|get-default"), SERVICES],
  ["launchctl", other("list|print|help|version"), SERVICES],
  ["service", /^(?!.*\0(status|--status-all)\0$)/s, SERVICES],
  ["hostnamectl timedatectl", other("status|show|list-timezones"), "it changes the system"],
  ["loginctl", other("list-[^\\0]*|show-[^\\0]*|[^\\0]*-status"), "it changes the system"],
  ["crontab", /^(?!\0-l\0$)/, UNATTENDED],
  ["kill", /^\0[^\0]*(\0[^\0]*)*?\0-1\0/, "it ends every process"],
  ["scp rsync", has(String.raw`[^-/.\0][^\0]*:[^\0]*`), REMOTE],
  // With -z, nc only checks whether a port of this machine is open.
  ["nc", /^(?!(\0(-\w*|\d+(-\d+)?|localhost|127\.0\.0\.1|0\.0\.0\.0|::1))*\0$)|^(?!.*\0-\w*z)/s, SENDS],
  ["git", has(String.raw`ext::[^\0]*`), "it makes git run the command in an address (ext::)"],
  ["docker podman nerdctl", has("--(privileged|cap-add|device|security-opt)"), MACHINE],
  [
    "docker podman nerdctl",
    new RegExp(
      String.raw`\0(--(privileged|cap-add|device|security-opt)=(?!false\0)` +
        String.raw`|--(pid|ipc|uts|userns|cgroupns)[=\0]host\0|(-[itdPq]*v|--volume)[=\0]?${SYSTEM_PATH}[:\0]` +
        String.raw`|--mount[=\0]([^\0]*,)?(source|src)=${SYSTEM_PATH}[,\0])`,
    ),
    MACHINE,
  ],
  ["docker podman nerdctl", /^(\0-[^\0]*)*\0(swarm|plugin|unshare|checkpoint)\0/, "it changes the container engine"],
];

function* entriesOf(words: Words, risk: Risk): Generator<readonly [string, CommandRisk]> {
  for (const [why, text] of Object.entries(words)) {
    for (const line of text.trim().split("\n")) {
      const [listed = "", subcommands] = line.trim().split(": ");
      for (const program of listed.split(" ")) {
        if (subcommands === undefined) yield [program, { risk, why }];
        else for (const each of subcommands.split(" ")) yield [`${program} ${each}`, { risk, why }];
      }
    }
  }
}

const byName: ReadonlyMap<string, CommandRisk> = new Map([...entriesOf(LOW, "low"), ...entriesOf(MEDIUM, "medium")]);
const high: ReadonlyMap<string, CommandRisk> = new Map(entriesOf(HIGH, "high"));
const listed: ReadonlySet<string> = new Set(Array.from(byName.keys(), (name) => name.split(" ")[0] ?? ""));

/** What a program, or "program subcommand", does. `undefined` if it is not listed, or is of high risk. */
export function entryOf(name: string): CommandRisk | undefined {
  return byName.get(name);
}

/** Why a program is of high risk with any words; `undefined`: it is not. */
export function highProgram(name: string): string | undefined {
  return high.get(name.replace(/^mkfs\..*/, "mkfs"))?.why;
}

/** True when the table has a program of this name that is not of high risk, or a subcommand of this program. */
export function isListedProgram(name: string): boolean {
  return name !== "" && listed.has(name);
}

/** How a wrapper writes the command behind it. Options that are not listed take no value. */
export interface Wrapper {
  /** Options that take the next word as their value. */
  readonly values?: string;
  /** How many operands come before the command. Default 0. */
  readonly operands?: number;
  /** Whether `NAME=value` may come before the command. Default false. */
  readonly assigns?: true;
  /** Whether the command gets more words when it runs. Default false. */
  readonly adds?: true;
  /** Whether all words from here on are joined to a script. Default false. */
  readonly joins?: true;
  /** Options whose value is a script. */
  readonly scripts?: string;
}

const TRACER: Wrapper = { values: "-e -o -s -P -p -E -u -a -S -O -I -b -X" };
const TMUX: Wrapper = { values: "-c -e -F -n -s -t -x -y -l", operands: 1, joins: true };
const RUNNER: Wrapper = {
  values: "-p --package --python --with --env --group --extra --cwd --prefix -w --workspace -C --dir -n --name",
  scripts: "-c --call",
};
const ON_RUNNER: Wrapper = { ...RUNNER, operands: 1 };
const USER: Wrapper = { values: "-u -g -h -p -C -D -R -T -U -r -t --user --group --chdir", assigns: true };
const AS_USER: Wrapper = { values: "-s -g -G -w -u --shell --group", operands: 1, scripts: "-c --command" };

/** Commands that run the command behind them, by name or by name and subcommand. */
const WRAPPERS: { readonly [names: string]: Wrapper } = {
  env: { values: "-u --unset -C --chdir -a --argv0", assigns: true },
  "cross-env": { assigns: true },
  "command builtin nohup setsid busybox toybox caffeinate winpty unbuffer": {},
  "chronic eatmydata catchsegv linux32 linux64 setarch": {},
  "prlimit ssh-agent dbus-run-session firejail": { values: "-p --pid -a -t" },
  numactl: { values: "-i -N -m -C -p" },
  "xvfb-run": { values: "-n -s -f -w -p -e" },
  entr: { scripts: "-s" },
  // These run no command behind them.
  "mapfile readarray": { scripts: "-C", operands: Infinity },
  "complete compgen": { scripts: "-C -F", operands: Infinity },
  "nix-shell": { scripts: "--run --command", operands: Infinity },
  exec: { values: "-a" },
  nice: { values: "-n --adjustment" },
  ionice: { values: "-c --class -n --classdata" },
  timeout: { values: "-k --kill-after -s --signal", operands: 1 },
  time: { values: "-f --format -o --output" },
  stdbuf: { values: "-i --input -o --output -e --error" },
  "chrt taskset chroot": { operands: 1 },
  "strace ltrace valgrind perf gdb lldb": TRACER,
  "perf stat: perf record: perf trace:": { ...TRACER, operands: 1 },
  "tmux new: tmux new-session: tmux neww: tmux new-window:": TMUX,
  "tmux splitw: tmux split-window: tmux respawn-pane: tmux respawn-window:": TMUX,
  screen: { values: "-S -t -c -e -h -p -s -T" },
  xargs: {
    values: "-n --max-args -P --max-procs -L --max-lines -s --max-chars -d --delimiter -I -a --arg-file -E -J -R -S",
    adds: true,
  },
  parallel: { values: "-j --jobs -a --arg-file -I --delay --timeout -N -n", adds: true, joins: true },
  watch: { values: "-n --interval", joins: true },
  ssh: { values: "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", operands: 1, joins: true },
  flock: { values: "-w --timeout -E --conflict-exit-code", operands: 1, scripts: "-c --command" },
  script: { values: "-t -O -I -B -T -m -E", operands: Infinity, scripts: "-c --command" },
  "sudo doas pkexec unshare nsenter setpriv capsh systemd-run machinectl proot fakeroot bwrap": USER,
  "su runuser sg": AS_USER,
  "npx bunx pnpx uvx": RUNNER,
  "npm exec: npm x: pnpm exec: pnpm dlx: yarn exec: yarn dlx: bun x: bundle exec: mise exec:": ON_RUNNER,
  "uv run: poetry run: pipenv run: pdm run: hatch run: rye run: conda run: pipx run:": ON_RUNNER,
};

const HIDING: { readonly [names: string]: string } = {
  "tar gtar bsdtar": "-I --use-compress-program --to-command --checkpoint-action --rsh-command -F --info-script",
  zip: "-TT --unzip-command",
  man: "-P --pager -H --html -B",
  "bat batcat": "--pager",
  sort: "--compress-program",
  split: "--filter",
  rg: "--pre --hostname-bin",
  rsync: "-e --rsh --rsync-path",
  "scp sftp": "-S",
  "go test:": "-exec -toolexec -vettool",
  "go build: go run: go vet:": "-exec -toolexec",
  "git rebase: git difftool:": "-x --exec --extcmd",
  "git push: git fetch: git pull: git clone: git ls-remote:": "--upload-pack --receive-pack --exec",
  "git grep:": "-O --open-files-in-pager",
  "make gmake": "--eval",
  "gcc g++ cc c++ clang clang++": "-wrapper",
  "git filter-branch:":
    "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter",
};

/** Builtins that evaluate words which look like data: subscripts, names of variables, arrays. */
export const EVALUATING = new Set(
  "test [ read unset let declare typeset local export readonly wait mapfile readarray getopts printf".split(" "),
);

/** Shells, which take a script behind `-c`, from a file or from stdin. */
export const SHELLS: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split(" "));

/** Editors and pagers. They have their own commands, which can start programs. */
export const EDITORS = "vim vi nvim view ex gvim vimdiff less more most gdb lldb";

const wrappers = new Map(expandNames(WRAPPERS));
const hiding = new Map(expandNames(HIDING));

/** What the tables know about a wrapper, or about options that hide a program, by program and subcommand. */
export function wrapperOf(
  name: string,
  subcommand = "",
): { wrapper: Wrapper | undefined; options: string | undefined } {
  const full = `${name} ${subcommand}:`;
  return { wrapper: wrappers.get(full) ?? wrappers.get(name), options: hiding.get(full) ?? hiding.get(name) };
}

/** Each name between blanks by itself: "a b", or with subcommands "a x: a y:". */
export function expandNames<T>(table: { readonly [names: string]: T }): readonly (readonly [string, T])[] {
  return Object.entries(table).flatMap(([names, entry]) => {
    const all = names.includes(":") ? names.split(": ").map((name) => name.replace(/:?$/, ":")) : names.split(" ");
    return all.map((name) => [name, entry] as const);
  });
}
