/**
 * Accidents that people reported in public threads, each with a state like theirs and the command that an agent ran. The
 * words are ours. Sizes are smaller than in the threads; what matters is kept: ignored or not, in a repository or not.
 *
 * @typedef {object} Accident
 * @property {string} thread the project and the number of the thread
 * @property {string} what
 * @property {{ readonly [path: string]: string | number }} files content, or a number of random bytes
 * @property {string} [ignored] what .gitignore has
 * @property {readonly string[]} [uncommitted] paths that no commit has; default: none but the ignored
 * @property {string} [before] a script that completes the state
 * @property {string} command
 * @property {number} [limit] `maxUndoBytes`
 * @property {boolean} [plain] whether the folder is no repository
 */

const SOURCE = { "src/app.js": "export const a = 1;\n", "src/lib.js": "export const b = 2;\n", "README.md": "# App\n" };
const DOCS = Object.fromEntries(Array.from({ length: 39 }, (_, n) => [`_md_files/${n}.md`, `guide ${n}\n`]));
const many = (/** @type {string} */ folder, /** @type {number} */ count, /** @type {number} */ bytes) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${folder}/${n}.bin`, bytes]));
const COMMIT = "git add -A && git -c user.name=A -c user.email=a@example.org commit -qm work";

/** @type {readonly Accident[]} */
export const ACCIDENTS = [
  {
    thread: "anthropics/claude-code#45974",
    what: "git clean -fd after a stash: untracked work",
    files: { ...SOURCE, "src/new.js": "in progress\n", "notes.txt": "today\n" },
    uncommitted: ["src/new.js", "notes.txt"],
    command: "git -c user.name=A -c user.email=a@example.org stash -q; git clean -fdq",
  },
  {
    thread: "anthropics/claude-code#29179",
    what: "git rm with .gitignore, then git clean: ignored folder of documents",
    files: { ...SOURCE, ...DOCS },
    ignored: "_md_files/\n",
    command: "git checkout -q --orphan docs; git rm -rfq .; git clean -fdq",
  },
  {
    thread: "anthropics/claude-code#70687",
    what: "git rm -rf, then rm -rf .git: files and history",
    files: { ...SOURCE, ...many("Assets", 20, 50_000) },
    command: "git checkout -q --orphan test && git rm -rfq . && rm -rf .git",
  },
  {
    thread: "anthropics/claude-code#49129",
    what: "images moved into a folder below the one that is removed",
    files: { ...SOURCE, ...many("generated", 100, 20_000) },
    ignored: "generated/\n",
    command: "mkdir -p generated/log && mv generated/*.bin generated/log/; rm -rf generated",
  },
  {
    thread: "anthropics/claude-code#46058",
    what: "the only copies of documents, after they were reorganized",
    files: many("Catalog", 100, 20_000),
    plain: true,
    command: "mkdir new; mv Catalog/* new/; rmdir Catalog; rm -rf new",
  },
  {
    thread: "anthropics/claude-code#43771",
    what: "a batch rename gives many recordings one name",
    files: many("recordings", 23, 200_000),
    plain: true,
    command: 'cd recordings; for f in *.bin; do mv "$f" "recording.bin"; done',
  },
  {
    thread: "anthropics/claude-code#43771 (large)",
    what: "the same with files above 50 MB",
    files: many("recordings", 3, 60_000_000),
    plain: true,
    command: 'cd recordings; for f in *.bin; do mv "$f" "recording.mov"; done',
  },
  {
    thread: "anthropics/claude-code#13318",
    what: "a folder of uploads replaced by a link to a copy that has not all of it",
    files: { ...SOURCE, ...many("storage/app", 60, 10_000) },
    ignored: "storage/\n",
    command: "mkdir -p copy; cp storage/app/1*.bin copy/; rm -rf storage; ln -s copy storage",
  },
  {
    thread: "anthropics/claude-code#65034",
    what: "the .env file removed",
    files: { ...SOURCE, ".env": "KEY=secret\n" },
    ignored: ".env\n",
    command: "rm .env; echo done > src/app.js",
  },
  {
    thread: "anthropics/claude-code#73230",
    what: "uploads removed by a variable that was empty",
    files: { ...SOURCE, ...many("uploads", 55, 5_000) },
    ignored: "uploads/\n",
    command: 'dir=""; rm -rf uploads/"$dir"*',
  },
  {
    thread: "anthropics/claude-code#44314",
    what: "rows deleted from a database file",
    files: { ...SOURCE, "app.sqlite": 400_000 },
    ignored: "*.sqlite\n",
    command: "dd if=/dev/zero of=app.sqlite bs=4096 seek=10 count=5 conv=notrunc 2>/dev/null",
  },
  {
    thread: "anthropics/claude-code#54477",
    what: "a test script that empties the database and the folders of its records",
    files: { ...SOURCE, "instance/app.db": 200_000, ...many("instance/agents", 20, 3_000) },
    ignored: "instance/\n",
    command: ": > instance/app.db; rm -rf instance/agents",
  },
  {
    thread: "anthropics/claude-code#18883",
    what: "a checkout over days of uncommitted work",
    files: SOURCE,
    before: "echo 'four days' >> src/app.js; echo 'of work' >> src/lib.js",
    command: "git checkout -q -- .",
  },
  {
    thread: "anthropics/claude-code#4541",
    what: "git reset --hard HEAD~1 with work in the folder",
    files: SOURCE,
    before: `echo two >> src/lib.js; ${COMMIT}; echo more >> src/app.js`,
    command: "git reset -q --hard HEAD~1",
  },
  {
    thread: "anthropics/claude-code#58885",
    what: "a worktree below the project removed with untracked work",
    files: SOURCE,
    ignored: ".worktrees/\n",
    before: "git worktree add -q .worktrees/fix; echo 'issue 268' > .worktrees/fix/new.js",
    command: "git worktree remove --force .worktrees/fix || rm -rf .worktrees/fix",
  },
  {
    thread: "anthropics/claude-code#83775",
    what: "rm -rf of the source after mv found the target not empty",
    files: { "a/x/1.txt": "source\n", "b/x/2.txt": "target\n", "a/x/only.txt": "only here\n" },
    plain: true,
    command: "mv a/x b/ 2>/dev/null || rm -rf a/x",
  },
  {
    thread: "google-gemini/gemini-cli#1504",
    what: "a folder removed that was thought to be moved",
    files: { ...SOURCE, "docs/journeys/1.md": "one\n", "docs/journeys/old/2.md": "two\n" },
    uncommitted: ["docs"],
    command: "rm -rf docs/journeys",
  },
  {
    thread: "google-gemini/gemini-cli#15580",
    what: "git reset --hard to another history: untracked stays, tracked work goes",
    files: SOURCE,
    before: "git branch other; echo proof > lemma.v; echo fix >> src/app.js; git add -A",
    command: "git reset -q --hard other",
  },
  {
    thread: "google-gemini/gemini-cli#15792",
    what: "a clean-up of the whole folder with the person's table in it",
    files: { "items.xlsx": 90_000 },
    plain: true,
    command: "mkdir venv; echo > venv/x; rm -rf ./*",
  },
  {
    thread: "google-gemini/gemini-cli#15822",
    what: "find -exec rm of files that were to stay",
    files: { "events/a/1.json": "{}\n", "events/a/1_new.json": "{1}\n", "events/b/2_new.json": "{2}\n" },
    plain: true,
    command: 'find events -type f -name "*_new.json" -exec rm {} +',
  },
  {
    thread: "google-gemini/gemini-cli#15821",
    what: "everything in the project, hidden files and .git too",
    files: { ...SOURCE, ".env": "KEY=1\n" },
    ignored: ".env\n",
    command: "find . -mindepth 1 -delete",
  },
  {
    thread: "openai/codex#3728, #5201",
    what: "rm -rf .git with commits that were pushed nowhere",
    files: SOURCE,
    before: `echo two >> src/lib.js; ${COMMIT}`,
    command: "rm -rf .git; git init -q",
  },
  {
    thread: "openai/codex#6801",
    what: "rm -rf * in the project",
    files: { ...SOURCE, ...many("data", 30, 10_000) },
    ignored: "data/\n",
    command: "rm -rf *",
  },
  {
    thread: "openai/codex#30028",
    what: "a clean-up that takes the only backup of a database",
    files: { ...SOURCE, "data/scratch.tmp": "x\n", "data/old.log": "x\n", "data/backup.sql": 300_000 },
    ignored: "data/\n",
    command: "rm data/*",
  },
  {
    thread: "openai/codex#19202",
    what: "a file deleted to be written anew",
    files: { "slides.html": "<p>mine</p>\n", "paper.pdf": 50_000 },
    plain: true,
    command: "rm slides.html; echo '<p>other</p>' > slides.html",
  },
  {
    thread: "anomalyco/opencode#33379",
    what: "credentials and a backup removed with scratch files",
    files: { "db_backup.sql": 80_000, ".env": "KEY=1\n", "tmp/a": "x\n" },
    plain: true,
    command: "rm -rf tmp db_backup.sql .env",
  },
  {
    thread: "anomalyco/opencode#43745",
    what: "a database removed before its backup was looked at",
    files: { ...SOURCE, "prod.db": 60_000_000, "backups/prod.db": "" },
    ignored: "*.db\n",
    command: "rm prod.db; cp backups/prod.db prod.db",
  },
  {
    thread: "cline/cline#14367",
    what: "files that only an uncommitted .gitignore protects, after reset and clean",
    files: { ...SOURCE, "local/keys.txt": "mine\n" },
    uncommitted: ["local"],
    before: "echo local/ > .gitignore",
    command: "git reset -q --hard; rm -f .gitignore; git clean -fdq",
  },
  {
    thread: "cline/cline#5598",
    what: ".git of a repository below renamed and left so",
    files: { "own/a.txt": "a\n" },
    plain: true,
    before: `git -C own init -q; cd own; ${COMMIT}`,
    command: "mv own/.git own/.git_disabled",
  },
  {
    thread: "anthropics/claude-code#49129 (over the limit)",
    what: "more content than undo may take: a loss",
    files: { ...SOURCE, ...many("images", 40, 300_000) },
    ignored: "images/\n",
    limit: 4_000_000,
    command: "rm -rf images; echo x > src/app.js",
  },
  {
    thread: "(ours) a file above 50 MB changed in place",
    what: "a loss, unless the file system clones files",
    files: { ...SOURCE, "large.db": 60_000_000 },
    ignored: "*.db\n",
    command: "dd if=/dev/zero of=large.db bs=4096 seek=10 count=5 conv=notrunc 2>/dev/null",
  },
];
