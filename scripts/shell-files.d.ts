/** A `.sh` file is imported as its text, without comment lines (scripts/lib/shell-text.mjs). */
declare module "*.sh" {
  const text: string;
  export default text;
}
