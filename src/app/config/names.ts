/** `work_dir` as `workDir`. */
export type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A map of a file, with its keys renamed, not those of maps in it. */
export type Camelled<T> = { readonly [K in keyof T as K extends string ? Camel<K> : never]: T[K] };

export function camelKeys<T extends object>(written: T): Camelled<T> {
  return Object.fromEntries(Object.entries(written).map(([key, value]) => [camel(key), value])) as never;
}

/** The name of a key's setting. Settings are in bytes and milliseconds: `outputs_mb` is `outputs`. */
export type SettingName<Name extends string> = Name extends `${infer Size}_mb`
  ? Camel<Size>
  : Name extends `${infer Time}_days`
    ? `${Camel<Time>}Ms`
    : Camel<Name>;

export function settingName(name: string): string {
  return camel(name.replace(/_mb$/, "").replace(/_days$/, "_ms"));
}

/** What a key's number is multiplied with. */
export function unitOf(key: string): number {
  return key.endsWith("_mb") ? 1_048_576 : key.endsWith("_days") ? 86_400_000 : 1;
}

/** The environment variable of a key: `policy.autonomy` is `HANDRAIL_POLICY_AUTONOMY`. */
export function variableOf(key: string): string {
  return `HANDRAIL_${key.toUpperCase().replaceAll(".", "_")}`;
}

/** Puts a value into a tree of maps, under the names that lead to it. `undefined` only makes the maps around it. */
export function putAt(tree: object, path: readonly string[], value: unknown): void {
  let group = tree as { [name: string]: unknown };
  for (const part of path.slice(0, -1)) group = (group[part] ??= {}) as { [name: string]: unknown };
  if (value !== undefined) group[path.at(-1) ?? ""] = value;
}
