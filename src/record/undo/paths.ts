/** Returns the path as bytes for the system. The path has one character per byte. */
export function pathIn(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

/** Returns the path as text for people. */
export function shown(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** Returns the folders that contain a path, outermost first. */
export function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) parents.push(path.slice(0, at));
  return parents;
}

/** Whether a path is that of a repository's own folder, or inside one. */
export function isOfRepository(path: string): boolean {
  return path.toLowerCase().split("/").includes(".git");
}
