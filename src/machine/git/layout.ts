/** What makes a folder a repository to git; it needs no `.git` (git's is_git_directory, gitrepository-layout(5)). */
export const MAKING = ["HEAD", "commondir", "objects", "refs"] as const;

/** Whether git treats a folder with these names in it as a repository. */
export function isRepository(has: (name: (typeof MAKING)[number]) => boolean): boolean {
  return has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
}

/**
 * What git writes into a repository's `.git` folder in daily work (gitrepository-layout(5), and what git 2.39 itself
 * writes: state of merges, messages, locks). Everything else in the folder configures git, or leads git to programs or
 * other folders.
 */
export const WORKING = new RegExp(
  `^(${[
    "objects|refs|logs|reftable|packed-refs|shallow|worktrees|modules|lfs|rr-cache|info",
    "HEAD|[A-Z_]+_HEAD|[A-Z_]*EDITMSG|[A-Z_]+_MSG|MERGE_[A-Z_]+|NOTES_MERGE_.+|AUTO_MERGE",
    "index|index\\..+|sharedindex\\..+|gc\\.(log|pid)|.+\\.lock|.+\\.held-back(-\\d+)?",
    "ADD_EDIT\\.patch|addp-hunk-edit\\.diff",
  ].join("|")})$`,
);

/** Names of files that were put aside. */
export const ASIDE = /\.held-back(-\d+)?$/;

/** State of an unfinished rebase, cherry-pick, revert or bisect. git continues it and runs the programs it names. */
export const OPERATION = /^(rebase-merge|rebase-apply|sequencer|BISECT_.+)$/;

/**
 * Paths deeper in a repository that lead git to other objects or drivers, or hide files from a person. They are in
 * folders that git writes in daily work.
 */
export const DEEPER = [
  ...["objects/info/alternates", "objects/info/http-alternates", "refs/replace"],
  ...["info/attributes", "info/exclude", "info/grafts"],
] as const;

/** Names in a folder that git takes for a repository, and that lead it to programs or other folders. */
export const LEADING: ReadonlySet<string> = new Set([
  ...MAKING,
  ...["config", "config.worktree", "hooks", "info", "modules", "worktrees", "packed-refs", "index"],
  ...["rebase-merge", "rebase-apply", "sequencer"],
]);

/** Folders of a `.git` where a link could make git read, show or write something else. */
export const LINKED = [
  ...["", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "refs/remotes"],
  ...["refs/remotes/origin", "logs", "rebase-merge", "rebase-apply", "sequencer"],
];
