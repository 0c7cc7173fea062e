/**
 * Throws on Bun and Deno, with a sentence for people. Their child processes differ from Node's: file tools would work,
 * and the first command would fail.
 *
 * @param versions default: those of this process
 */
export function requireNode(versions: { readonly [name: string]: string | undefined } = process.versions): void {
  const other = ["bun", "deno"].find((name) => versions[name] !== undefined);
  if (other === undefined) return;
  const name = other === "bun" ? "Bun" : "Deno";
  throw new Error(`Handrail needs Node.js 20.19 or newer, and this is ${name} ${versions[other]}: start it with node`);
}
