import type { Settings } from "../config/settings.ts";
import { urlOfTenant } from "../config/state.ts";
import { isInside } from "../util/paths.ts";

/**
 * Returns the settings of the tenant that they name: its record and its folder, and the folders of all other tenants
 * are forbidden. Without a tenant, all folders of tenants are forbidden.
 *
 * @param workDir the folder that an option names, which is then used instead of the tenant's own
 * @throws Error when the configuration has no such tenant, or when the folder of one is inside that of another.
 */
export function ofTenant(settings: Settings, workDir?: string): Settings {
  const { tenant, tenants, tools, policy, store } = settings;
  const names = Object.keys(tenants);
  if (tenant === undefined && names.length === 0) return settings;
  const own = tenant === undefined ? {} : tenants[tenant];
  if (own === undefined) {
    const known = names.length === 0 ? "has no tenants" : `has ${names.join(", ")}`;
    throw new Error(`there is no tenant ${tenant}: the configuration ${known}. Add it to tenants`);
  }
  const others = Object.entries(tenants).flatMap(([name, { workDir: of }]) =>
    name === tenant || of === undefined ? [] : [of],
  );
  const shared = others.find((each) => own.workDir !== undefined && isInside(own.workDir, each));
  if (shared !== undefined)
    throw new Error(`tenants.${tenant}.work_dir ${own.workDir} is inside ${shared}, the folder of another tenant`);
  const folder = workDir === undefined ? own.workDir : undefined;
  return {
    ...settings,
    store: store.includes("://") ? urlOfTenant(store, tenant) : store,
    tools: { ...tools, ...(folder !== undefined && { workDir: folder }) },
    policy: { ...policy, forbiddenPaths: [...policy.forbiddenPaths, ...others] },
  };
}
