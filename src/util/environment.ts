/** The variables of this process with these names, if set. */
export function variablesNamed(names: readonly string[]): { readonly [name: string]: string } {
  const found = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
