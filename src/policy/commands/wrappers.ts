/** How a wrapper writes the command behind it. Options that are not listed take no value. */
export interface Wrapper {
  /** Options that take the next word as their value. */
  readonly values?: string;
  /** Operands before the command. Default 0. */
  readonly operands?: number;
  /** `NAME=value` may stand before the command. Default false. */
  readonly assigns?: true;
  /** The command gets more words when it runs. Default false. */
  readonly adds?: true;
  /** All words from here on are joined to a script. Default false. */
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
  // They run no command behind them.
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

/** Options of programs that are no wrappers, and whose value is run all the same. */
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

/** Shells, which take a script behind `-c`, in a file or from what they read. */
export const SHELLS: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split(" "));

/** Editors and pagers, which run commands of their own that can start programs. */
export const EDITORS = "vim vi nvim view ex gvim vimdiff less more most gdb lldb";

const wrappers = new Map(expandNames(WRAPPERS));
const hiding = new Map(expandNames(HIDING));

/** What is known of a wrapper, and of options that hide a program, by the name of a program and its subcommand. */
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
    const listed = names.includes(":") ? names.split(": ").map((name) => name.replace(/:?$/, ":")) : names.split(" ");
    return listed.map((name) => [name, entry] as const);
  });
}
