/** The variables with these names, if set. Default: of this process. */
export function variablesNamed(
  names: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): { readonly [name: string]: string } {
  const found = names.map((name) => [name, env[name]] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
