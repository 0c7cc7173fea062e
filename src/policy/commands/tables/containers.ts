import type { CommandSpec, Finding, OptionTable, Use } from "../spec.ts";
import type { Word } from "../tree.ts";
import { literalWord } from "../words.ts";

const RUN: OptionTable = {
  flags:
    "-i --interactive -t --tty -d --detach --rm --init --read-only --no-healthcheck -q --quiet --privileged " +
    "--oom-kill-disable -P --publish-all",
  values: {
    "--name": "text",
    "-e --env": "text",
    "--env-file": "read",
    "-p --publish": "text",
    "-v --volume": "text",
    "--mount": "text",
    "-w --workdir": "text",
    "-u --user": "text",
    "--entrypoint": "text",
    "--network --net": "text",
    "-h --hostname": "text",
    "-l --label": "text",
    "-m --memory": "text",
    "--cpus": "text",
    "--platform": "text",
    "--pull": "text",
    "--restart": "text",
    "--tmpfs": "text",
    "--shm-size": "text",
    "--ulimit": "text",
    "--cap-drop": "text",
    "--cap-add": "text",
    "--security-opt": "text",
    "--pid": "text",
    "--ipc": "text",
    "--uts": "text",
    "--userns": "text",
    "--cgroupns": "text",
    "--device": "text",
    "--volumes-from": "text",
    "--add-host": "text",
    "--gpus": "text",
    "--link": "text",
    "--expose": "text",
  },
  raise: {
    "--privileged": ["high", "gives the container this whole machine"],
    "--cap-add": ["high", "gives the container more rights"],
    "--device": ["high", "gives the container a device of this machine"],
    "--security-opt": ["high", "takes the container's protection away"],
    "--volumes-from": ["high", "gives the container the folders of another"],
  },
};

const LISTS: OptionTable = {
  flags:
    "-a --all -q --quiet -l --latest -s --size --no-trunc --digests -t --timestamps -f --follow --details " +
    "--no-stream -n --last --services",
  values: {
    "--filter": "text",
    "--format": "text",
    "--tail": "text",
    "--since": "text",
    "--until": "text",
    "--type": "text",
    "-n": "text",
  },
};

const CONTAINER_COMMANDS: readonly CommandSpec[] = [
  {
    names: [
      "ps",
      "images",
      "logs",
      "inspect",
      "top",
      "stats",
      "port",
      "diff",
      "history",
      "version",
      "info",
      "events",
      "search",
      "ls",
      "list",
      "df",
      "context",
    ],
    risk: "medium",
    why: "asks the container engine",
    options: LISTS,
    operands: { rest: "text" },
    match: ["docker ps -a", "docker logs --tail 50 web", "docker images", "podman inspect web"],
    notMatch: ["docker ps --what"],
  },
  {
    names: ["run", "create"],
    risk: "medium",
    why: "runs a program in a container",
    syntax: "posix",
    options: RUN,
    operands: { rest: "text" },
    refine: mounts,
    match: [
      "docker run --rm alpine echo hi",
      'docker run --rm -it -v "$PWD":/app -w /app node:20 npm test',
      "podman run -p 8080:80 -d nginx",
      "docker run -v data:/data x",
    ],
    notMatch: [
      "docker run -v /:/host alpine chroot /host",
      "docker run --privileged x",
      "docker run -v /var/run/docker.sock:/s x",
      "docker run --pid=host x",
      "docker run --mount type=bind,source=/,target=/h x",
      "docker run --network host x",
    ],
  },
  {
    names: ["exec", "attach", "cp"],
    risk: "medium",
    why: "acts in a container",
    syntax: "posix",
    options: {
      flags: "-i --interactive -t --tty -d --detach -T",
      values: { "-e --env": "text", "-w --workdir": "text", "-u --user": "text", "--index": "text" },
    },
    operands: { rest: "text" },
    refine: copied,
    match: ["docker exec -it web sh", "docker cp web:/app/out.txt out.txt"],
    notMatch: ["docker exec --privileged web sh"],
  },
  {
    names: [
      "build",
      "buildx",
      "pull",
      "push",
      "tag",
      "start",
      "stop",
      "restart",
      "kill",
      "rm",
      "rmi",
      "pause",
      "unpause",
      "wait",
      "rename",
      "update",
      "commit",
      "save",
      "load",
      "import",
      "export",
      "login",
      "logout",
      "volume",
      "network",
      "image",
      "container",
      "system",
      "builder",
      "manifest",
      "scout",
      "machine",
      "pod",
      "secret",
      "generate",
      "init",
    ],
    risk: "medium",
    why: "builds, moves or changes images and containers",
    syntax: "words",
    operands: { rest: "text" },
    match: ["docker build -t app .", "docker stop web", "docker pull alpine", "docker volume ls"],
    notMatch: ["docker build $x"],
  },
  {
    names: ["compose"],
    risk: "medium",
    why: "runs the services of the project",
    syntax: "words",
    operands: { rest: "text" },
    match: ["docker compose up -d", "docker compose logs web"],
    notMatch: ["docker compose $x"],
  },
  {
    names: ["swarm", "stack", "service", "node", "plugin", "config", "trust", "unshare", "checkpoint"],
    risk: "high",
    why: "changes the container engine or the whole cluster",
    syntax: "words",
    operands: { rest: "text" },
    match: ["docker plugin install x", "docker swarm init"],
    notMatch: ["docker swam"],
  },
];

/** Container engines and clusters. Their engine often has more rights than the person who asks it. */
export const CONTAINERS: readonly CommandSpec[] = [
  {
    names: ["docker", "podman", "nerdctl"],
    risk: "low",
    options: { flags: "-v --version --help" },
    subcommands: CONTAINER_COMMANDS,
    match: ["docker --version"],
    notMatch: ["docker -H tcp://x:1 ps", "docker --context evil ps", "docker made-up"],
  },
  {
    names: ["docker-compose", "podman-compose"],
    risk: "medium",
    why: "runs the services of the project",
    syntax: "words",
    operands: { rest: "text" },
    match: ["docker-compose up -d"],
    notMatch: ["docker-compose $x"],
  },
  {
    names: [
      "kubectl",
      "oc",
      "helm",
      "k9s",
      "minikube",
      "kind",
      "k3d",
      "kustomize",
      "skaffold",
      "argocd",
      "flux",
      "istioctl",
      "stern",
    ],
    risk: "medium",
    why: "acts with your account on a cluster",
    syntax: "words",
    operands: { rest: "text" },
    match: ["kubectl get pods", "helm list"],
    notMatch: ["kubectl get $x"],
  },
  {
    names: [
      "terraform",
      "tofu",
      "pulumi",
      "ansible",
      "ansible-playbook",
      "vagrant",
      "packer",
      "aws",
      "gcloud",
      "gsutil",
      "az",
      "doctl",
      "heroku",
      "fly",
      "flyctl",
      "railway",
      "supabase",
      "eksctl",
      "cdk",
      "sam",
      "vault",
      "consul",
      "nomad",
    ],
    risk: "medium",
    why: "acts with your account on machines elsewhere",
    syntax: "words",
    operands: { rest: "text" },
    match: ["terraform plan", "aws s3 ls"],
    notMatch: ["aws s3 ls $x"],
  },
];

const SHARES_MACHINE = new Set(["--pid", "--ipc", "--uts", "--userns", "--cgroupns", "--network"]);

/** Folders of this machine that the container gets, and parts of the machine that it shares. */
function mounts({ options }: Use): readonly Finding[] {
  return options.flatMap(({ name, value }): readonly Finding[] => {
    if (SHARES_MACHINE.has(name) && /^(host|container:|ns:)/.test(value?.value ?? "host")) {
      return [{ kind: "risk", risk: "high", why: `${name} lets the container share this machine's own` }];
    }
    if (name !== "-v" && name !== "--mount") return [];
    const source = sourceOf(name, value === undefined ? undefined : whereItStands(value));
    if (source === undefined)
      return [{ kind: "unclear", risk: "medium", why: `what ${name} gives the container is not known` }];
    return /^[/.~]/.test(source) ? [{ kind: "path", use: "write", word: literalWord(source) }] : [];
  });
}

const WORKING_FOLDER = /^"?(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)"?([:/][^$`*?[{]*)$/;

/** A value, the working folder in it as ".": it has no other name before the command runs. */
function whereItStands({ value, text }: Word): string | undefined {
  const behind = WORKING_FOLDER.exec(text)?.[1];
  return value ?? (behind === undefined ? undefined : `.${behind.replaceAll('"', "")}`);
}

/** "" for a volume of the engine's own. */
function sourceOf(option: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (option === "-v") return value.includes(":") ? (value.split(":", 1)[0] ?? "") : "";
  const fields = new Map(value.split(",").map((field) => field.split("=", 2) as [string, string | undefined]));
  if (fields.get("type") === "volume" || fields.get("type") === "tmpfs") return "";
  return fields.get("source") ?? fields.get("src");
}

function copied({ spec, operands, words }: Use): readonly Finding[] {
  if (!spec.names.includes("cp") || words[0]?.value !== "cp") return [];
  return operands
    .filter(({ value }) => value === undefined || !/^[^/]+:/.test(value))
    .map((word): Finding => ({ kind: "path", use: "write", word }));
}
