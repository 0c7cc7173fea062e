/**
 * What every provider takes as the name of a property. Anthropic and Bedrock refuse others ("Property keys should match
 * pattern"): https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes
 */
export const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Characters that tell similar names apart, as in `StartTime<` and `StartTime>`. */
const SPELLED: { readonly [character: string]: string } = { "<": "_before", ">": "_after", "=": "_is", "!": "_not" };

/**
 * Returns the names of properties for providers, by the tool's own names: `$filter` is "filter", `filter[id]`
 * "filter_id". Names that providers take stay. The same object gives the same names, so that arguments can be mapped
 * back.
 */
export function fittedNames(properties: object): ReadonlyMap<string, string> {
  const names = Object.keys(properties);
  const used = new Set(names.filter((name) => PROPERTY_NAME.test(name)));
  return new Map(
    names.map((name) => {
      if (PROPERTY_NAME.test(name)) return [name, name];
      const spelled = name.replaceAll(/[<>=!]/g, (character) => SPELLED[character] ?? "_");
      const plain =
        spelled
          .replaceAll(/[^a-zA-Z0-9_.-]+/g, "_")
          .replaceAll(/^_+|_+$/g, "")
          .slice(0, 60) || "value";
      let fitted = plain;
      for (let count = 2; used.has(fitted); count++) fitted = `${plain}_${count}`;
      used.add(fitted);
      return [name, fitted];
    }),
  );
}
