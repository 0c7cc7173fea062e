import type { Refusal } from "../contract/containment.ts";
import { clip } from "../util/text.ts";

/** More of a kind are counted, not named. */
const MOST_NAMED = 5;

/**
 * What the sandbox kept a command from, in words for a model: what it was, and how to ask for it. `readOnly`: the workspace was read-only, and
 * nothing can be asked for. Default false.
 */
export function describeRefusals(refusals: readonly Refusal[], readOnly = false): string {
  if (readOnly) {
    return "The sandbox refused some of what it tried: the autonomy is read-only, so nothing but temporary files can be written, and no network reached.";
  }
  const written = pathsOf(refusals, "write");
  const read = pathsOf(refusals, "read");
  const aside = pathsOf(refusals, "held-back");
  const hosts = refusals.filter((each) => each.kind === "host");
  const asked = [...new Set(hosts.flatMap(({ host, reason }) => (reason === undefined ? [ruleOf(host)] : [])))];
  const sentences = [
    written.length > 0 &&
      `The sandbox refused to write ${named(written)}: only the workspace and temporary files are writable. If it is needed, run it again with ${argument("write", written)}; a person is asked.`,
    read.length > 0 &&
      `The sandbox does not show ${named(read)}: it hides where secrets are kept, and has temporary folders of its own. If it is needed, run it again with ${argument("read", read)}, or with write; a person is asked.`,
    aside.length > 0 &&
      `What it made in ${named(aside)} was put aside: it would lead git to programs for whoever looks at the repository later. If that is meant, run it again with ${argument("write", aside)}; a person is asked.`,
    ...hosts.map(
      ({ host, reason }) =>
        reason !== undefined && `The sandbox refused to reach ${host}: ${clip(reason.replace(/\.$/, ""), 300)}.`,
    ),
    asked.length > 0 &&
      `The sandbox refused to reach ${named(asked)}: a command has no network but the hosts it names. If it is needed, run it again with ${argument("network", asked)}; a person is asked.`,
    hosts.length === 0 &&
      refusals.some(({ kind }) => kind === "network") &&
      'The sandbox has no network. If it is needed, run it again with network: ["the host"]; a person is asked.',
    ...refusals.map(
      (each) => each.kind === "system-call" && `The sandbox refused a system call: ${clip(each.what, 200)}.`,
    ),
    ...new Set(refusals.map((each) => each.kind === "limit" && LIMITS[each.what])),
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}

/** A host as it is asked for: the ports of the web need not be named. */
function ruleOf(host: string): string {
  return host.replace(/:(80|443)$/, "");
}

const LIMITS: { readonly [What in Extract<Refusal, { kind: "limit" }>["what"]]: string } = {
  processes: "It started more processes than a command in the sandbox may have.",
  memory: "It took more memory than a command in the sandbox may have.",
  disk: "It was stopped because the disk was nearly full.",
};

function pathsOf(refusals: readonly Refusal[], kind: "write" | "read" | "held-back"): readonly string[] {
  return [...new Set(refusals.flatMap((each) => (each.kind === kind ? [each.path] : [])))];
}

function named(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return `${all.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function argument(name: string, values: readonly string[]): string {
  return `${name}: ${JSON.stringify(values.slice(0, MOST_NAMED))}`;
}
