/** Keys of the five systems that Handrail began with (docs/coming-from.md), with the key that does the same here. */
const FOREIGN_KEYS: ReadonlyMap<string, string> = new Map([
  ["shell_confirm", "policy.shell_confirm"],
  ["allowed_commands", "policy.commands.only"],
  ["autonomy_level", "policy.autonomy"],
  ["workspace_dir", "tools.work_dir"],
  ["shell_env_passthrough", "policy.env.pass"],
  ["max_output_bytes", "tools.options"],
]);

/** Switches of tools, `NAME_enabled`, with another name than the tool's. */
const SWITCHES: ReadonlyMap<string, string> = new Map([
  ["shell", "run_shell"],
  ["fetch", "fetch_url"],
  ["search", "web_search"],
  ["files", "read_file, write_file"],
  ["capture_pane", "capture-pane"],
  ["send_keys", "send-keys"],
]);

/** Returns what to write instead of a key of another system; `undefined` if none is known. */
export function replacementOf(name: string): string | undefined {
  const [, tool] = /^(\w+)_enabled$/.exec(name) ?? [];
  if (tool !== undefined)
    return `A tool is there unless it is disabled: tools.disable: [${SWITCHES.get(tool) ?? tool}].`;
  const key = FOREIGN_KEYS.get(name);
  return key && `Here it is ${key}.`;
}
