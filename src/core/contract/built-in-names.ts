/**
 * The names of Handrail's own tools. Their effects say all that a call does; the arguments of other tools are shown to
 * people besides their effects.
 */
export const BUILT_IN_NAMES = [
  ...["read", "write", "edit", "bash", "jobs", "grep", "find", "ls"],
  ...["memory_store", "memory_recall", "memory_forget", "cron_add", "cron_list", "cron_remove", "time"],
  ...["web_search", "web_fetch", "fetch_url", "http_request", "browser", "shell", "run_shell"],
  ...["capture-pane", "send-keys", "read_file", "write_file", "file_read", "file_write"],
  ...["delegate", "scheduled_command"],
];
