import type { Refusal } from "../contract/containment.ts";
import { clip } from "../util/text.ts";

/** How many paths or hosts a sentence names. It counts the rest. */
const MAX_NAMED = 5;

/**
 * Describes to a model what was refused, and which argument asks for access. `readOnly`: no argument can. Default
 * false.
 */
export function describeRefusals(refusals: readonly Refusal[], readOnly = false): string {
  if (readOnly) {
    return (
      "The sandbox refused part of the command: the autonomy is read-only, so only temporary files are writable " +
      "and there is no network."
    );
  }
  const read = pathsOf(refusals, "read");
  const heldBack = pathsOf(refusals, "held-back");
  const startUp = (isAside: boolean) =>
    refusals.flatMap((each) => (each.kind === "start-up" && each.isAside === isAside ? [each.path] : []));
  const [aside, made] = [startUp(true), startUp(false)];
  const unsearched = (isGoingOn: boolean) =>
    refusals.flatMap((each) => (each.kind === "unsearched" && each.isGoingOn === isGoingOn ? [each.path] : []));
  const [coming, skipped] = [unsearched(true), unsearched(false)];
  const hosts = refusals.filter((each) => each.kind === "host");
  const askable = [...new Set(hosts.flatMap(({ host, reason }) => (reason === undefined ? [ruleOf(host)] : [])))];
  const sentences = [
    read.length > 0 && `The sandbox hides ${named(read)}, like all keys and secrets. ${askFor("read", read)}`,
    heldBack.length > 0 &&
      `The sandbox disabled ${named(heldBack)}: it would make git run programs outside the sandbox. ` +
        askFor("write", heldBack),
    aside.length > 0 &&
      `The sandbox put aside ${named(aside)}: other programs run what is in such files, unasked. A person can look at ` +
        `them and put them back: handrail held-back. ${askFor("write", aside)}`,
    made.length > 0 && `Programs outside the sandbox obey ${named(made)}, which the command made: mention it.`,
    coming.length > 0 &&
      `${named(coming)} cannot be written for now: it is still being looked at for files to protect. ` +
        "Try again in a moment.",
    skipped.length > 0 &&
      `${named(skipped)} cannot be written: the workspace has too many folders to look for files to protect. ` +
        askFor("write", skipped),
    ...hosts.map(
      ({ host, reason }) =>
        reason !== undefined && `The sandbox refused to connect to ${host}: ${clip(reason.replace(/\.$/, ""), 300)}.`,
    ),
    askable.length > 0 &&
      `The sandbox refused to connect to ${named(askable)}: a command reaches only the hosts that the call names. ` +
        askFor("network", askable),
    ...new Set(refusals.map((each) => each.kind === "likely" && HINTS[each.what])),
    ...new Set(refusals.map((each) => each.kind === "limit" && LIMITS[each.what])),
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}

/**
 * Describes to people what was refused to the program of a plugin or an MCP server, and the remedy in its
 * configuration. Sentences without the last period; "" if nothing was.
 */
export function describeSourceRefusals(refusals: readonly Refusal[]): string {
  const read = pathsOf(refusals, "read");
  const hosts = refusals.flatMap((each) => (each.kind === "host" ? [ruleOf(each.host)] : []));
  const likely = (what: "network" | "temporary") =>
    refusals.some((each) => each.kind === "likely" && each.what === what);
  const sentences = [
    read.length > 0 && `The sandbox hides ${named(read)}: install it elsewhere, or configure sandbox: false`,
    hosts.length > 0 &&
      `The sandbox refused to connect to ${named([...new Set(hosts)])}: ` +
        "name what it needs as hosts: in its configuration",
    hosts.length === 0 &&
      likely("network") &&
      "The sandbox has no network except the hosts that its configuration names: add hosts: [HOST]",
    likely("temporary") && "The sandbox has its own /tmp and /var/tmp: install it elsewhere",
    ...new Set(
      refusals.map((each) => each.kind === "limit" && LIMITS[each.what].replace("The command", "It").slice(0, -1)),
    ),
  ];
  return sentences.filter((sentence) => sentence !== false).join(". ");
}

/**
 * Describes to the model of another agent what was refused to its command.
 *
 * @param outside how it asks for a run outside the sandbox, after "run it again"
 */
export function describeGuestRefusals(refusals: readonly Refusal[], outside: string): string {
  const has = (kind: Refusal["kind"], what?: string) =>
    refusals.some((each) => each.kind === kind && (what === undefined || ("what" in each && each.what === what)));
  const hidden = [...pathsOf(refusals, "read"), ...pathsOf(refusals, "held-back")];
  const sentences = [
    hidden.length > 0 && `The sandbox does not allow ${named(hidden)}.`,
    (has("host") || has("likely", "network")) && "The sandbox in which this ran has no network.",
    (has("unsearched") || has("likely", "write")) &&
      "In the sandbox, only temporary files and the workspace are writable, except files that configure other programs.",
    has("likely", "temporary") && "The sandbox has its own /tmp and /var/tmp: use a file of the workspace.",
    has("likely", "signing") && "The sandbox hides the keys with which git signs: use git commit --no-gpg-sign.",
    has("likely", "system-call") &&
      "The sandbox refuses mounts, namespaces, tracing and other privileged system calls.",
    ...new Set(refusals.map((each) => each.kind === "limit" && LIMITS[each.what])),
  ].filter((sentence) => sentence !== false);
  return `${sentences.join(" ")} If the command needs this, run it again with ${outside}: a person is asked.`;
}

/** Returns a host in the form of a rule: the ports of the web are implied. */
function ruleOf(host: string): string {
  return host.replace(/:(80|443)$/, "");
}

const HINTS: { readonly [What in Extract<Refusal, { kind: "likely" }>["what"]]: string } = {
  write:
    "In the sandbox, only temporary files and the workspace are writable, except files that configure git, editors " +
    'or agents. If the command needs a path, run it again with write: ["PATH"]; a person is asked.',
  network:
    "The sandbox has no network except the hosts that the call names, through its proxy (HTTPS_PROXY). " +
    'If the command needs a host, run it again with network: ["HOST"]; a person is asked.',
  temporary:
    "The sandbox has its own /tmp and /var/tmp. If the command needs a file of the machine's, run it again with " +
    'read: ["PATH"] or write: ["PATH"]; a person is asked.',
  signing:
    "The sandbox hides the keys with which git signs, and their agent. If the commit must be signed, run it again " +
    "with sandbox: false; a person is asked. If not, use git commit --no-gpg-sign (git tag --no-sign).",
  "system-call":
    "The sandbox refuses mounts, namespaces, tracing and other privileged system calls. " +
    "If the command needs them, run it again with sandbox: false; a person is asked.",
};

const LIMITS: { readonly [What in Extract<Refusal, { kind: "limit" }>["what"]]: string } = {
  processes: "The command reached the sandbox's limit on processes.",
  memory: "The command reached the sandbox's limit on memory.",
  disk: "The sandbox stopped the command because the disk was nearly full.",
};

function pathsOf(refusals: readonly Refusal[], kind: "read" | "held-back"): readonly string[] {
  return [...new Set(refusals.flatMap((each) => (each.kind === kind ? [each.path] : [])))];
}

function named(all: readonly string[]): string {
  const more = all.length - MAX_NAMED;
  return `${all.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function askFor(argument: string, values: readonly string[]): string {
  const asked = JSON.stringify(values.slice(0, MAX_NAMED));
  return `If the command needs this, run it again with ${argument}: ${asked}; a person is asked.`;
}
