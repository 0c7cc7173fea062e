import { constants } from "node:os";
import { wordsOf } from "./words.ts";

/**
 * Returns the words behind a program's name with what has a form of its own in that program written as an option or a
 * word that rules use: `git push +main` is `git push --force main`, `kill -KILL` is `kill -9`, `tar xf` is `tar -xf`.
 */
export function meant(program: string, args: readonly string[]): readonly string[] {
  const meaning = Object.hasOwn(MEANINGS, program) ? MEANINGS[program] : undefined;
  return meaning === undefined ? args : meaning(args);
}

const kill = (args: readonly string[]) => {
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const [, glued] = /^--signal=(.+)$/.exec(word) ?? /^-s(.+)$/.exec(word) ?? [];
    const isNext = word === "-s" || word === "-n" || word === "--signal";
    const name = glued ?? (isNext ? args[at + 1] : /^-([A-Z]+\d?|\d+)$/.exec(word)?.[1]);
    const number = name === undefined ? undefined : signalNumber(name);
    found.push(number === undefined ? word : `-${number}`);
    if (isNext && number !== undefined) at++;
  }
  return found;
};

function signalNumber(name: string): number | undefined {
  if (/^\d+$/.test(name)) return Number(name);
  const signals: { readonly [name: string]: number } = constants.signals;
  return signals[`SIG${name.toUpperCase().replace(/^SIG/, "")}`];
}

/** 0777, a=rwx and ugo+rwx are 777. */
const chmod = (args: readonly string[]) =>
  args.map((word) => {
    if (/^u[=+]rwx,g[=+]rwx,o[=+]rwx$/.test(word)) return "777";
    if (/^[ugoa]*[=+]rwx$/.test(word)) return /^(u?g?o?a?)[=+]/.exec(word)?.[1]?.match(/^(|a|ugo)$/) ? "777" : word;
    return /^0+[0-7]{3,4}$/.test(word) ? word.replace(/^0+(?=[0-7]{3})/, "") : word;
  });

const git = (args: readonly string[]): readonly string[] => {
  const aliases = new Map(
    args.flatMap((word, at) => {
      const [, name, value] =
        /^alias\.([\w-]+)=([^]*)$/i.exec(args[at - 1] === "-c" ? word : word.replace(/^-c/, "")) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
  const at = args.findIndex((word) => aliases.has(word));
  const alias = wordsOf(aliases.get(args[at] ?? "") ?? "");
  const whole = alias.ok && at !== -1 ? [...args.slice(0, at), ...alias.words, ...args.slice(at + 1)] : args;
  const push = whole.indexOf("push");
  if (push === -1) return whole;
  return whole.flatMap((word, index) => {
    if (index <= push || !/^[+:]./.test(word)) return [word];
    return word.startsWith("+") ? ["--force", word.slice(1)] : ["--delete", word.slice(1)];
  });
};

/** `--location=global` is -g. */
const npm = (args: readonly string[]) => args.map((word) => (word === "--location=global" ? "-g" : word));

/** `+nightly` chooses a toolchain. */
const cargo = (args: readonly string[]) => (args[0]?.startsWith("+") === true ? args.slice(1) : args);

/** `plan -destroy` only looks; `apply -destroy` destroys. */
const terraform = (args: readonly string[]) => {
  const isDestroy = args.includes("apply") && args.some((word) => /^--?destroy(=true)?$/.test(word));
  return isDestroy ? args.map((word) => (word === "apply" ? "destroy" : word)) : args;
};

const RESOURCES = `
  pods=po,pod deployments=deploy,deployment services=svc,service namespaces=ns,namespace nodes=no,node
  configmaps=cm,configmap secrets=secret persistentvolumes=pv,persistentvolume
  persistentvolumeclaims=pvc,persistentvolumeclaim serviceaccounts=sa,serviceaccount statefulsets=sts,statefulset
  daemonsets=ds,daemonset replicasets=rs,replicaset ingresses=ing,ingress cronjobs=cj,cronjob jobs=job events=ev,event
  endpoints=ep customresourcedefinitions=crd,crds,customresourcedefinition clusterroles=clusterrole roles=role
  clusterrolebindings=clusterrolebinding rolebindings=rolebinding horizontalpodautoscalers=hpa,horizontalpodautoscaler
  networkpolicies=netpol,networkpolicy storageclasses=sc,storageclass replicationcontrollers=rc,replicationcontroller
  resourcequotas=quota,resourcequota projects=project routes=route`;
const resources = new Map(
  RESOURCES.trim()
    .split(/\s+/)
    .flatMap((entry) => {
      const [name = "", others = ""] = entry.split("=");
      return [name, ...others.split(",")].map((each) => [each, name] as const);
    }),
);

/** `deploy/web` and `deployments.apps web` are `deployments web`; `po,svc` is two resources. */
const kubectl = (args: readonly string[]) =>
  args.flatMap((word) => {
    if (word.startsWith("-")) return [word];
    const [type = "", ...name] = word.split("/");
    const known = type.split(",").map((each) => resources.get(each.replace(/\..*$/, "").toLowerCase()));
    return known.some((each) => each === undefined) ? [word] : [...known.map(String), ...name];
  });

const tar = ([first = "", ...rest]: readonly string[]) =>
  /^[A-Za-z]+$/.test(first) && /[cxtru]/.test(first) ? [`-${first}`, ...rest] : first === "" ? rest : [first, ...rest];

const MEANINGS: { readonly [program: string]: (args: readonly string[]) => readonly string[] } = {
  ...{
    kill,
    pkill: kill,
    killall: kill,
    chmod,
    git,
    terraform,
    tofu: terraform,
    kubectl,
    oc: kubectl,
    tar,
    npm,
    cargo,
  },
};
