/** What to do where a configuration, an option or a user still names a tenant. */
export const TENANTS_WERE_REMOVED =
  "Tenants were removed: run Handrail once for each, with an account and a state folder of its own. " +
  "See docs/operations.md, section Who is kept apart";

/** Keys of earlier versions, with what to do instead. They are errors: without them, less would be kept apart. */
export const REMOVED_KEYS: ReadonlyMap<string, string> = new Map([
  ["tenant", TENANTS_WERE_REMOVED],
  ["tenants", TENANTS_WERE_REMOVED],
]);
