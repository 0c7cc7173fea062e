/**
 * What ripgrep is given behind its name. "-" tells it to read stdin, which it would else have to guess. `except` are real paths that it leaves alone; it then has to run
 * in the folder "/", for it takes its globs from where it runs.
 */
export function ripgrepArguments(
  args: readonly string[],
  paths: readonly string[],
  except: readonly string[],
): readonly string[] {
  // The last glob that matches decides, so that none of the arguments can take these back.
  const globs = except.map((path) => `--glob=!${path.replace(/[\\*?[\]{}! ]/g, String.raw`\$&`)}`);
  return [...args, ...globs, "--", ...(paths.length === 0 ? ["-"] : paths)];
}

/** What find is given behind its name. GNU's wants its global options first. */
export function findArguments(
  args: readonly string[],
  paths: readonly string[],
  except: readonly string[],
): readonly string[] {
  if (except.length === 0) return [...paths, ...args];
  const start = args.findIndex((arg, index) => index % 2 === 0 && !/^-(min|max)depth$/.test(arg));
  const at = start === -1 ? args.length : start;
  const pruned = except.flatMap((path) => ["-path", path.replace(/[\\*?[\]]/g, String.raw`\$&`), "-prune", "-o"]);
  return [...paths, ...args.slice(0, at), ...pruned, ...args.slice(at)];
}
