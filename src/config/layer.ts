import { DEFAULT_LIMIT } from "../output/truncate.ts";
import type { Given } from "./keys.ts";
import { type Settings, type ToolSettings, frozen } from "./settings.ts";

/** Settings with what a file of the user's says over them: what it names is replaced, lists too. */
export function withOwn(base: Settings, given: Given): Settings {
  return frozen({
    ...common(base, given),
    policy: {
      autonomy: given["policy.autonomy"]?.value ?? base.policy.autonomy,
      workspaceOnly: given["policy.workspace_only"]?.value ?? base.policy.workspaceOnly,
      allowedRoots: given["policy.allowed_roots"]?.value.map(({ value }) => value) ?? base.policy.allowedRoots,
      forbiddenPaths: given["policy.forbidden_paths"]?.value ?? base.policy.forbiddenPaths,
      env: { pass: given["policy.env.pass"]?.value ?? base.policy.env.pass },
    },
    store: given.store?.value ?? base.store,
  });
}

/** Settings with what a project's file says over them, of which nothing is left that it may not say: its lists add. */
export function withProject(base: Settings, given: Given): Settings {
  const { tools, toolsets } = common(base, given);
  return frozen({
    tools: { ...tools, disable: union(base.tools.disable, given["tools.disable"]?.value) },
    toolsets,
    policy: {
      autonomy: given["policy.autonomy"]?.value ?? base.policy.autonomy,
      workspaceOnly: given["policy.workspace_only"]?.value ?? base.policy.workspaceOnly,
      allowedRoots: union(
        base.policy.allowedRoots,
        given["policy.allowed_roots"]?.value.map(({ value }) => value),
      ),
      forbiddenPaths: union(base.policy.forbiddenPaths, given["policy.forbidden_paths"]?.value),
      env: { pass: union(base.policy.env.pass, given["policy.env.pass"]?.value) },
    },
    store: base.store,
  });
}

/** What both kinds of file say in the same way. */
function common({ tools, toolsets }: Settings, given: Given): Pick<Settings, "tools" | "toolsets"> {
  const workDir = given["tools.work_dir"]?.value ?? tools.workDir;
  return {
    tools: {
      preset: given["tools.preset"]?.value ?? tools.preset,
      ...(workDir !== undefined && { workDir }),
      disable: given["tools.disable"]?.value ?? tools.disable,
      options: withOptions(tools.options, given["tools.options"]?.value ?? {}),
    },
    toolsets: { ...toolsets, ...toolsetsIn(given) },
  };
}

/** The toolsets of a file, by name. */
export function toolsetsIn(given: Given): Settings["toolsets"] {
  return Object.fromEntries(
    Object.entries(given.toolsets?.value ?? {}).map(([name, { value }]) => [name, value] as const),
  );
}

/** A limit of one kind leaves the other as it is. */
function withOptions(base: ToolSettings, added: ToolSettings): ToolSettings {
  const merged = Object.entries(added).map(([tool, options]) => {
    const before = Object.hasOwn(base, tool) ? base[tool] : undefined;
    const limit = options.limit && { limit: { ...DEFAULT_LIMIT, ...before?.limit, ...options.limit } };
    return [tool, { ...before, ...options, ...limit }] as const;
  });
  return { ...base, ...Object.fromEntries(merged) };
}

function union(one: readonly string[], other: readonly string[] = []): readonly string[] {
  return [...new Set([...one, ...other])];
}
