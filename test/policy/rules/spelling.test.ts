import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { fullSubcommand, subcommandNamed } from "../../../src/policy/commands/program-subcommands.ts";
import { createRules } from "../../../src/policy/rules/rules.ts";
import { wordsOf } from "../../../src/policy/rules/words.ts";
import { ruleWarnings } from "../../../src/policy/rules/warnings.ts";

const BASE = { workDir: "/srv/ws", home: "/home/dev" };

function verdictOf(rule: string, command: string): string | undefined {
  const parsed = wordsOf(command);
  if (!parsed.ok) throw new Error(command);
  return createRules({ deny: [rule] }, BASE).command({ words: parsed.words, text: command })?.verdict;
}

const RULES: readonly (readonly [rule: string, same: readonly string[], others: readonly string[]])[] = [
  [
    "rm -rf *",
    ["rm -rf a", "rm -fr a", "rm -r -f a", "rm -f a -r", "rm --recursive --force a", "rm -Rvf a", "rm --rec --fo a"],
    ["rm -r a", "rm -f a", "rm a", "rm -v a"],
  ],
  ["rm -rf build", ["rm -rf ./build", "rm -fr build/", "rm -r build -f"], ["rm -rf dist"]],
  [
    "git push --force *",
    [
      "git push -f",
      "git push origin main --force",
      "git -C sub push -uf origin",
      "git push origin +main",
      "git push --forc",
    ],
    ["git push origin main", "git push --force-with-lease", "git push --no-force", "git pull --force", "git push -n"],
  ],
  ["git push --delete *", ["git push -d origin x", "git push origin :x"], ["git push origin x"]],
  ["git branch -D *", ["git branch -d -f x", "git branch --delete --force x"], ["git branch -d x", "git branch x"]],
  ["git commit --no-verify *", ["git commit -n", "git commit -anm x", "git commit -m x -n"], ["git commit -m -n"]],
  ["git reset --hard *", ["git reset HEAD~1 --hard", "git --no-pager reset --hard"], ["git reset --soft"]],
  ["git clean -fdx", ["git clean -xdf", "git clean -f -d -x .", "git clean --force -dx"], ["git clean -fd"]],
  ["git push -f", ["git -c alias.p='push --force' p origin"], ["git -c alias.p=push p"]],
  ["git stage", ["git add x"], ["git rm x"]],
  [
    "docker run:*",
    ["docker container run x", "docker --context c run x", "docker -H h run x"],
    ["docker ps", "docker exec x run"],
  ],
  [
    "docker run --privileged *",
    ["docker run --rm --privileged=true x", "docker container run --privileged x"],
    ["docker run x", "docker run --privileged=false x"],
  ],
  [
    "docker run -v /:/host *",
    ["docker run --volume=/:/host x", "docker run -it -v/:/host x", "docker run --volume /:/host x"],
    ["docker run -v /tmp:/x y"],
  ],
  ["docker rmi *", ["docker image rm x", "docker image remove x"], ["docker rm x"]],
  [
    "docker system prune -af",
    ["docker system prune --all --force", "docker system prune -f -a"],
    ["docker system prune"],
  ],
  [
    "kubectl delete *",
    ["kubectl -n prod delete po x", "kubectl --context=c delete -f x"],
    ["kubectl get pods", "kubectl get delete"],
  ],
  [
    "kubectl delete pods *",
    ["kubectl delete po x", "kubectl delete pod/x", "kubectl -n a delete pods --all"],
    ["kubectl delete svc x"],
  ],
  ["kubectl apply -f *", ["kubectl apply --filename=x", "kubectl -n a apply --filename x"], ["kubectl apply -k x"]],
  [
    "npm install -g *",
    [
      "npm i -g x",
      "npm add --global x",
      "npm -g install x",
      "npm install x -g",
      "npm in x --global",
      "npm i --location=global x",
    ],
    ["npm i x", "npm run -g"],
  ],
  ["npm run deploy*", ["npm run-script deploy:all", "npm rum deploy", "npm --prefix x run deploy"], ["npm run build"]],
  ["npm test", ["npm t", "npm run test", "npm run-script test -- -w"], ["npm run build"]],
  ["npm uninstall *", ["npm rm x", "npm r x", "npm remove x", "npm un x"], ["npm i x"]],
  [
    "npm publish *",
    ["npm pub", "npm publ --tag x", "npm --tag x pu", "npm publis"],
    ["npm p", "npm unpub", "npm publisher", "npm pack"],
  ],
  ["npm unpublish *", ["npm unp x", "npm unpub x --force"], ["npm un x", "npm pub"]],
  [
    "npm dist-tag *",
    ["npm distTag ls", "npm dist-tags ls", "npm dist ls", "npm distTags ls"],
    ["npm di", "npm Publish"],
  ],
  ["npm exec *", ["npm x a", "npm exe a"], ["npm ex a", "npm explain a"]],
  ["yarn run deploy", ["yarn deploy"], ["yarn build"]],
  [
    "pip install *",
    ["python3 -m pip install x", "python -m pip --quiet install x", "pip -q install x", "pip3 install x"],
    ["pip list"],
  ],
  [
    "terraform apply -auto-approve *",
    ["terraform apply --auto-approve", "terraform -chdir=x apply x -auto-approve=true"],
    ["terraform apply", "terraform plan"],
  ],
  ["terraform destroy", ["terraform apply -destroy", "terraform -chdir=x destroy"], ["terraform plan -destroy"]],
  ["helm uninstall *", ["helm delete x", "helm -n a un x"], ["helm list"]],
  [
    "chmod -R 777 *",
    ["chmod 777 --recursive x", "chmod -R 0777 x", "chmod -Rv a+rwx x", "chmod -R ugo=rwx x"],
    ["chmod 777 x", "chmod -R 755 x", "chmod -R u+rwx x"],
  ],
  [
    "curl -X POST *",
    ["curl -XPOST u", "curl --request POST u", "curl u -sX POST", "curl --request=POST u"],
    ["curl -X GET u", "curl u"],
  ],
  ["curl -k *", ["curl --insecure u", "curl -sSLk u", "curl u --insec"], ["curl -s u", "curl -o k u", "curl -ok u"]],
  ["curl -d *", ["curl --data x u", "curl --data=x u", "curl -sdx u"], ["curl u"]],
  ["wget -O *", ["wget -qO- u", "wget --output-document=x u"], ["wget u"]],
  [
    "kill -9 *",
    [
      "kill -KILL 1",
      "kill -SIGKILL 1",
      "kill -s KILL 1",
      "kill -s 9 1",
      "kill -n 9 1",
      "kill --signal=KILL 1",
      "kill --signal SIGKILL 1",
    ],
    ["kill 1", "kill -15 1", "kill -TERM 9"],
  ],
  ["tar -xf *", ["tar xf a", "tar --extract --file=a", "tar -x -f a", "tar xvzf a"], ["tar cf a", "tar -tf a"]],
  ["sed -i *", ["sed -i.bak s/a/b/ x", "sed --in-place s/a/b/ x", "sed -ni p x", "sed s/a/b/ x -i"], ["sed -n p x"]],
  ["find * -delete", ["find . -name x -delete", "find a -delete"], ["find . -name delete"]],
  ["node -e *", ["node --eval x", "node --eval=x", "node -p -e x"], ["node e", "node -p x"]],
  ["python3 -c *", ["python3 -Ic x", "python3 -uc x"], ["python3 c", "python3 -m c"]],
  ["ssh -o ProxyCommand*", ["ssh -oProxyCommand=x h", "ssh -v -o ProxyCommand=x h"], ["ssh -o Port=1 h"]],
  ["apt-get install -y *", ["apt-get --yes install x", "apt-get install x --assume-yes"], ["apt-get install x"]],
  ["gh pr merge --admin *", ["gh -R o/r pr merge 1 --admin", "gh pr merge --squash --admin"], ["gh pr merge 1"]],
  [
    "aws s3 rm --recursive *",
    ["aws --profile p s3 rm s3://b --recursive", "aws s3 --region r rm s3://b --recursive"],
    ["aws s3 rm s3://b/k"],
  ],
  [
    "cargo publish",
    ["cargo -q publish", "cargo --locked publish --dry-run", "cargo +nightly publish"],
    ["cargo build"],
  ],
  [
    "unknown-tool -ab x",
    ["unknown-tool x -a -b", "unknown-tool -ab x", "unknown-tool -q -ba x"],
    ["unknown-tool -a x"],
  ],
];

describe("a rule that asks or denies finds a command however its options are spelled", () => {
  test.each(RULES)("%s", (rule, same, others) => {
    for (const command of same) expect([command, verdictOf(rule, command)]).toEqual([command, "deny"]);
    for (const command of others) expect([command, verdictOf(rule, command)]).toEqual([command, undefined]);
  });

  test("an alias of git that only its configuration knows is asked about where a rule is about git", () => {
    expect(
      createRules({ deny: ["git push --force"] }, BASE).command({ words: ["git", "pf"], text: "git pf" }),
    ).toMatchObject({
      verdict: "ask",
      reason: expect.stringContaining("may be an alias"),
    });
    expect(
      createRules({ deny: ["git push --force"], allow: ["git pf"] }, BASE).command({
        words: ["git", "pf"],
        text: "git pf",
      })?.verdict,
    ).toBe("allow");
    expect(createRules({ deny: ["npm"] }, BASE).command({ words: ["git", "pf"], text: "git pf" })).toBeUndefined();
  });

  const npm = join(dirname(realpathSync(process.execPath)), "../lib/node_modules/npm/lib/utils/cmd-list.js");

  test.skipIf(!existsSync(npm))("each beginning of a name that npm takes is judged as the full name", () => {
    const { commands, aliases, deref } = createRequire(import.meta.url)(npm) as {
      readonly commands: readonly string[];
      readonly aliases: { readonly [alias: string]: string };
      readonly deref: (word: string) => string | undefined;
    };
    const names = [...commands, ...Object.keys(aliases)];
    const words = new Set(names.flatMap((name) => Array.from(name, (_, at) => name.slice(0, at + 1))));
    const different = [...words].filter((word) => {
      const meant = deref(word);
      const full = meant === undefined ? undefined : subcommandNamed("npm", meant)?.[0]; // older versions have others
      return full !== undefined && fullSubcommand("npm", word) !== full;
    });
    expect(words.size).toBeGreaterThan(300);
    expect(different).toEqual([]);
  });

  test("an allow rule stays strict: another spelling is not allowed by it", () => {
    const rules = createRules({ allow: ["rm -rf build"] }, BASE);
    expect(rules.command({ words: ["rm", "-fr", "build"], text: "rm -fr build" })).toBeUndefined();
  });

  test.each([
    ["rm -rf *", undefined],
    ["git push --force", undefined],
    ["npm", undefined],
    ["make-it --now", "other ways to write it for make-it are not known"],
    ["git push --no-such-option", "finds --no-such-option only as it is written"],
  ])("what is not known about %s is a warning when the rule is read", (rule, warning) => {
    const found = ruleWarnings({ deny: [rule] });
    if (warning === undefined) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringContaining(warning)]);
  });
});
