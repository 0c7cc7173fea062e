import type { Risk } from "../../contract/decision.ts";

export interface CommandRisk {
  readonly risk: Risk;
  /** What it does, as the end of a sentence that begins with "it". */
  readonly why: string;
  /** True: it runs code of the project, which may change. */
  readonly project: boolean;
}

export function entryOf(name: string): CommandRisk | undefined {
  return byName.get(name);
}

/** True when the table has a program of this name, or a subcommand of it. */
export function isListedProgram(name: string): boolean {
  return name !== "" && programs.has(name);
}

/**
 * Programs by what they do, in the words of the question. A line lists programs, or subcommands (`git: add commit`).
 */
interface Reasons {
  readonly [why: string]: string;
}

const LOW: Reasons = {
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

const MEDIUM: Reasons = {
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
  "ends processes": "kill pkill skill fuser renice",
  "continues after the command": "nohup setsid tmux screen",
  "opens a desktop program": `
    open xdg-open code codium cursor subl idea zed xclip xsel pbcopy pbpaste notify-send`,
  "waits for a person at a terminal": "vim vi nvim view emacs nano pico micro hx man info fzf tig lazygit gdb lldb",
  "works with keys and passwords": "gpg gpg2 age pass op bw security secret-tool ssh-keygen ssh-add ssh-agent openssl",
  "works on a database": "sqlite3 psql mysql mariadb mongosh redis-cli duckdb pg_dump pg_restore mysqldump",
  "runs containers": "docker podman nerdctl docker-compose podman-compose minikube kind",
  "runs a command of Handrail": "handrail",
};

const OF_PROJECT: Reasons = {
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

function entriesOf(reasons: Reasons, risk: Risk, project = false): readonly (readonly [string, CommandRisk])[] {
  return Object.entries(reasons).flatMap(([why, names]) => {
    return namesIn(names).map((name) => [name, { risk, why, project }] as const);
  });
}

function namesIn(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [listed = "", subcommands] = line.trim().split(": ");
    const all = listed.split(" ");
    if (subcommands === undefined) return all;
    return all.flatMap((program) => subcommands.split(" ").map((subcommand) => `${program} ${subcommand}`));
  });
}

const byName: ReadonlyMap<string, CommandRisk> = new Map([
  ...entriesOf(LOW, "low"),
  ...entriesOf(MEDIUM, "medium"),
  ...entriesOf(OF_PROJECT, "medium", true),
]);

const programs: ReadonlySet<string> = new Set(Array.from(byName.keys(), (name) => name.split(" ")[0] ?? ""));
