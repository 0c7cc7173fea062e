/*
 * The options of programs, with their synonyms. Rules that ask or deny are compared by it (`rules/spelling.ts`). From
 * the manuals of the programs, in their current versions.
 */

/**
 * `-f/--force` are one option, `-C=` takes a value, `-D>-d+-f` is short for two. Names are separated
 * by commas: of programs, or of a program and its subcommand.
 */
const OPTIONS: { readonly [names: string]: string } = {
  rm: `
    -r/-R/--recursive -f/--force -i -I --interactive= -d/--dir -v/--verbose -x/--one-file-system --no-preserve-root
    --preserve-root`,
  rmdir: "-p/--parents -v/--verbose --ignore-fail-on-non-empty",
  cp: `
    -r/-R/--recursive -f/--force -a/--archive -i/--interactive -n/--no-clobber -p --preserve= -L/--dereference
    -P/--no-dereference -l/--link -s/--symbolic-link -u/--update -v/--verbose -t=/--target-directory=
    -T/--no-target-directory -S=/--suffix= -b --backup=`,
  mv: `
    -f/--force -i/--interactive -n/--no-clobber -u/--update -v/--verbose -t=/--target-directory=
    -T/--no-target-directory -S=/--suffix= -b --backup=`,
  ln: `
    -s/--symbolic -f/--force -i/--interactive -n/--no-dereference -r/--relative -v/--verbose -t=/--target-directory=
    -T/--no-target-directory -b -S=/--suffix=`,
  mkdir: "-p/--parents -m=/--mode= -v/--verbose",
  touch: "-a -c/--no-create -d=/--date= -m -r=/--reference= -t=",
  "chmod, chown, chgrp": `
    -R/--recursive -f/--silent/--quiet -v/--verbose -c/--changes --reference= -h/--no-dereference --from= -H -L -P`,
  shred: "-u --remove= -f/--force -n=/--iterations= -z/--zero -v/--verbose -x/--exact -s=/--size=",
  truncate: "-s=/--size= -c/--no-create -r=/--reference= -o/--io-blocks",
  tee: "-a/--append -i/--ignore-interrupts -p",
  "kill, pkill, killall": `
    -s=/--signal= -l/--list -f/--full -u=/--euid= -x/--exact -n/--newest -o/--oldest -9 -1 -15`,
  tar: `
    -x/--extract/--get -c/--create -t/--list -r/--append -u/--update -f=/--file= -z/--gzip/--gunzip/--ungzip
    -j/--bzip2 -J/--xz -v/--verbose -C=/--directory= -P/--absolute-names -p/--preserve-permissions/--same-permissions
    -O/--to-stdout -k/--keep-old-files -T=/--files-from= -X=/--exclude-from= --exclude= --strip-components=
    --overwrite --remove-files --to-command= -I=/--use-compress-program=`,
  unzip: "-o -n -q -d= -l -p -x= -j",
  zip: `
    -r/--recurse-paths -q/--quiet -e/--encrypt -m/--move -x=/--exclude= -P=/--password= -u/--update -d/--delete`,
  rsync: `
    -a/--archive -r/--recursive -v/--verbose -z/--compress -n/--dry-run -u/--update -e=/--rsh= -P --delete/--del
    --delete-before --delete-after --delete-excluded --force --exclude= --include= --remove-source-files -l/--links
    -p/--perms -t/--times -g/--group -o/--owner -D -q/--quiet -c/--checksum`,
  scp: "-r -p -q -P= -i= -o= -l= -C -3 -J= -F= -S= -v",
  ssh: `
    -p= -i= -l= -o= -L= -R= -D= -J= -F= -N -f -T -t -v -q -A -a -X -Y -W= -w= -E= -S= -m= -c= -b= -B= -e= -I= -Q= -O=
    -n -4 -6 -C -g -k -M -G -V`,
  sed: `
    -i/--in-place -n/--quiet/--silent -e=/--expression= -f=/--file= -E/-r/--regexp-extended -s/--separate
    -z/--null-data -u/--unbuffered`,
  "grep, egrep, fgrep": `
    -r/--recursive -R/--dereference-recursive -i/--ignore-case -v/--invert-match -l/--files-with-matches
    -n/--line-number -e=/--regexp= -f=/--file= -E/--extended-regexp -F/--fixed-strings -P/--perl-regexp
    -o/--only-matching -c/--count -q/--quiet/--silent -s/--no-messages -w/--word-regexp -x/--line-regexp
    -A=/--after-context= -B=/--before-context= -C=/--context= -m=/--max-count= --include= --exclude= --exclude-dir=
    -a/--text -h/--no-filename -H/--with-filename`,
  find: `
    -delete -exec= -execdir= -ok= -okdir= -name= -iname= -path= -type= -maxdepth= -mindepth= -mtime= -newer= -size=
    -user= -perm= -print -print0 -fprint= -fls= -fprintf= -printf= -prune -L -H -P -not -o -a -regex= -empty -depth
    -xdev -mount`,
  curl: `
    -X=/--request= -d=/--data=/--data-ascii= --data-raw= --data-binary= --data-urlencode= --json= -k/--insecure
    -L/--location -o=/--output= -O/--remote-name -J/--remote-header-name -F=/--form= -T=/--upload-file= -H=/--header=
    -u=/--user= -A=/--user-agent= -e=/--referer= -b=/--cookie= -c=/--cookie-jar= -x=/--proxy= -s/--silent
    -S/--show-error -f/--fail -i/--include/--show-headers -I/--head -G/--get -v/--verbose -K=/--config=
    -m=/--max-time= -E=/--cert= -C=/--continue-at= -r=/--range= -w=/--write-out= -z=/--time-cond= -D=/--dump-header=
    -N/--no-buffer -n/--netrc -Q=/--quote= -U=/--proxy-user= -y= -Y= -P=/--ftp-port= -t=/--telnet-option= -4/--ipv4
    -6/--ipv6 -0/--http1.0 -g/--globoff -R/--remote-time -Z/--parallel -# --cacert= --cert-type= --key=
    --connect-timeout= --resolve= --retry= --unix-socket= --url= --compressed --proto= --output-dir=
    --location-trusted --oauth2-bearer= --form-string= --interface= --limit-rate=`,
  wget: `
    -O=/--output-document= -o=/--output-file= -q/--quiet -r/--recursive -P=/--directory-prefix= -c/--continue
    -N/--timestamping -i=/--input-file= -m/--mirror -np/--no-parent -nc/--no-clobber -U=/--user-agent= -l=/--level=
    -t=/--tries= -T=/--timeout= --no-check-certificate --post-data= --post-file= --method= --body-data= --body-file=
    --header= --user= --password= -e=/--execute= -b/--background -S/--server-response`,
  git: `
    -C= -c= --git-dir= --work-tree= --namespace= --exec-path= --super-prefix= --config-env= --attr-source=
    -p/--paginate -P/--no-pager --bare --no-replace-objects --literal-pathspecs --no-optional-locks -v/--version
    -h/--help`,
  "git push": `
    -f/--force --force-with-lease --force-if-includes -u/--set-upstream -d/--delete -n/--dry-run -q/--quiet
    -v/--verbose --all/--branches --mirror --tags --follow-tags --atomic --no-verify --verify --prune
    -o=/--push-option= --repo= --receive-pack=/--exec= --recurse-submodules= --signed --porcelain --progress --thin
    -4/--ipv4 -6/--ipv6`,
  "git commit": `
    -a/--all -m=/--message= -n/--no-verify --verify --amend -C=/--reuse-message= -c=/--reedit-message= -F=/--file=
    -s/--signoff -S/--gpg-sign --no-gpg-sign -p/--patch -q/--quiet -v/--verbose --allow-empty --allow-empty-message
    --author= --date= -e/--edit --no-edit --fixup= --squash= --reset-author -o/--only -i/--include -t=/--template=
    -u/--untracked-files --dry-run`,
  "git branch": `
    -d/--delete -D>--delete+--force -f/--force -m/--move -M>--move+--force -c/--copy -C>--copy+--force -a/--all
    -r/--remotes -u=/--set-upstream-to= --unset-upstream -t/--track -l/--list -v/--verbose -q/--quiet
    --edit-description --contains= --merged --no-merged --show-current`,
  "git checkout": `
    -b= -B= -f/--force -t/--track -d/--detach --orphan= -p/--patch -m/--merge --ours --theirs -q/--quiet -l
    --conflict= --ignore-other-worktrees`,
  "git switch": `
    -c=/--create= -C=/--force-create= -f/--force/--discard-changes -d/--detach -t/--track -m/--merge --orphan=
    -q/--quiet --ignore-other-worktrees`,
  "git restore": "-s=/--source= -S/--staged -W/--worktree -p/--patch -q/--quiet --ours --theirs -m/--merge",
  "git reset": "--hard --soft --mixed --merge --keep -q/--quiet -p/--patch -N/--intent-to-add",
  "git clean": "-f/--force -d -x -X -n/--dry-run -i/--interactive -q/--quiet -e=/--exclude=",
  "git rm": "-r -f/--force --cached -n/--dry-run -q/--quiet --ignore-unmatch --sparse",
  "git mv": "-f/--force -k -n/--dry-run -v/--verbose",
  "git add": `
    -A/--all/--no-ignore-removal -f/--force -u/--update -p/--patch -i/--interactive -n/--dry-run -N/--intent-to-add
    -e/--edit -v/--verbose --chmod= --renormalize`,
  "git tag": `
    -d/--delete -f/--force -a/--annotate -m=/--message= -F=/--file= -s/--sign -u=/--local-user= -l/--list -n
    -v/--verify`,
  "git rebase": `
    -i/--interactive --onto= --abort --continue --skip --quit -x=/--exec= -f/--force-rebase/--no-ff -r/--rebase-merges
    -s=/--strategy= -X=/--strategy-option= --no-verify --autosquash --autostash --root -m/--merge -q/--quiet
    -v/--verbose -S/--gpg-sign -C=`,
  "git merge, git cherry-pick, git revert": `
    -m=/--message=/--mainline= -F=/--file= -n/--no-commit/--no-stat --no-ff --ff --ff-only --squash --abort --continue
    --quit --skip -s=/--strategy= -X=/--strategy-option= --no-verify -e/--edit --no-edit -q/--quiet -v/--verbose
    -S/--gpg-sign --signoff --allow-unrelated-histories -x`,
  "git pull, git fetch": `
    -f/--force -r/--rebase -p/--prune -t/--tags -n/--no-tags -a/--append --all -q/--quiet -v/--verbose --depth=
    --unshallow -j=/--jobs= --upload-pack= --recurse-submodules -k/--keep -u/--update-head-ok --dry-run --no-rebase
    --ff-only --no-ff --autostash --set-upstream -o=/--server-option= -4/--ipv4 -6/--ipv6`,
  "git clone": `
    -b=/--branch= -o=/--origin= --depth= --recurse-submodules/--recursive --mirror --bare -n/--no-checkout
    -c=/--config= -u=/--upload-pack= -j=/--jobs= -l/--local --template= -q/--quiet -v/--verbose --single-branch
    -s/--shared --reference= --filter=`,
  "git stash": `
    -u/--include-untracked -a/--all -m=/--message= -p/--patch -k/--keep-index -q/--quiet -S/--staged --index`,
  "git config": `
    --global --system --local --worktree -f=/--file= --unset --unset-all --add --replace-all --get --get-all -l/--list
    -e/--edit --rename-section --remove-section --type= --blob= --show-origin --show-scope -z/--null`,
  "git worktree, git remote, git submodule, git lfs, git reflog, git gc": `
    -f/--force -b= -B= -d/--detach -a/--all -n/--dry-run -v/--verbose -q/--quiet -t= -m= --prune --aggressive
    --expire= --init --recursive --remote --all --push --add --delete`,
  "docker, podman, nerdctl": `
    -H=/--host= -c=/--context= -D/--debug -l=/--log-level= --config= --tls --tlscacert= --tlscert= --tlskey=
    --tlsverify -v/--version -n=/--namespace= --url= --connection= -r/--remote --root= --log-level=`,
  "docker run, podman run, nerdctl run, docker create, podman create, nerdctl create, docker exec, podman exec, nerdctl exec": `
    -d/--detach -i/--interactive -t/--tty --rm -v=/--volume= --mount= -p=/--publish= -P/--publish-all -e=/--env=
    --env-file= --privileged --name= -u=/--user= -w=/--workdir= --network=/--net= --entrypoint= --pid= --ipc= --uts=
    --userns= --cap-add= --cap-drop= --device= --security-opt= -h=/--hostname= -l=/--label= --link= -m=/--memory=
    --cpus= -c=/--cpu-shares= --restart= --pull= --platform= --volumes-from= --gpus= --add-host= --dns= --expose=
    --init -a=/--attach= --read-only --tmpfs= --ulimit= --shm-size= --log-driver= --group-add= --runtime=
    --cgroup-parent= --detach-keys= -q/--quiet --sig-proxy`,
  "docker rm, podman rm, docker rmi, podman rmi, docker kill, podman kill, docker stop, podman stop": `
    -f/--force -v/--volumes -l/--link -a/--all -s=/--signal= -t=/--time=/--timeout= --no-prune`,
  "docker prune, podman prune": "-a/--all -f/--force --volumes --filter=",
  "docker build, podman build, nerdctl build": `
    -t=/--tag= -f=/--file= --build-arg= --no-cache --pull --push --load --target= --platform= --network= --secret=
    --ssh= -q/--quiet -o=/--output= --progress= --rm --squash`,
  "docker push, podman push, docker pull, podman pull": `
    -a/--all-tags -q/--quiet --disable-content-trust --platform=`,
  "docker compose, docker-compose, podman-compose": `
    -f=/--file= -p=/--project-name= --profile= --env-file= --project-directory= -d/--detach --build --force-recreate
    -v/--volumes --remove-orphans --rmi= -t=/--timeout= --scale= -T -e=/--env= -u=/--user= --rm -y/--yes`,
  "kubectl, oc": `
    -n=/--namespace= --context= --kubeconfig= --cluster= --user= -s=/--server= --token= --as= --as-group=
    --request-timeout= -v=/--v= --insecure-skip-tls-verify -f=/--filename= -k=/--kustomize= -l=/--selector=
    --field-selector= -A/--all-namespaces --all --force --grace-period= --now --wait --cascade= --ignore-not-found
    -o=/--output= -R/--recursive --dry-run= -w/--watch -c=/--container= -i/--stdin -t/--tty --replicas= --server-side
    --prune --overwrite -p=/--patch= --type= -p/--previous --tail= --since= -it>-i+-t --image= --rm --restart=
    --timeout= --delete-emptydir-data --ignore-daemonsets --local --record --field-manager= -y`,
  helm: `
    -n=/--namespace= --kube-context= --kubeconfig= -f=/--values= --set= --set-string= --version= -i/--install --force
    --atomic --wait --dry-run --create-namespace --timeout= --keep-history --no-hooks --reuse-values --debug
    -o=/--output= --repo=`,
  "terraform, tofu": `
    -chdir= -auto-approve -destroy -target= -var= -var-file= -force -lock= -lock-timeout= -input= -no-color -out=
    -refresh= -refresh-only -replace= -state= -state-out= -backup= -parallelism= -compact-warnings -json -upgrade
    -reconfigure -migrate-state -backend= -backend-config= -force-copy -lockfile= -recursive -check -diff -write=`,
  "npm, pnpm, yarn, bun": `
    -g/--global -D/--save-dev/--dev -S/--save -P/--save-prod/--prod -O/--save-optional -E/--save-exact
    -B/--save-bundle -f/--force -y/--yes -w=/--workspace= -ws/--workspaces -C=/--prefix=/--dir=/--cwd= -s/--silent
    -q/--quiet -d --registry= --tag= --access= --otp= --ignore-scripts --legacy-peer-deps --dry-run --no-save --omit=
    --include= --userconfig= --location= -a/--all -r/--recursive -F=/--filter= --frozen-lockfile --offline -c=/--call=
    -p=/--package= --if-present --loglevel= --no-audit --no-fund --package-lock-only --no-git-tag-version -L/--latest
    -u`,
  "npx, bunx, pnpx": `
    -y/--yes --no-install -p=/--package= -c=/--call= -w=/--workspace= -q/--quiet --ignore-existing`,
  "pip, pip3, uv": `
    -U/--upgrade -r=/--requirement= -c=/--constraint= -e=/--editable= -t=/--target= -i=/--index-url=
    --extra-index-url= -f=/--find-links= --user --break-system-packages --no-deps --pre --force-reinstall
    -I/--ignore-installed --root= --prefix= -y/--yes -q/--quiet -v/--verbose --trusted-host= --no-cache-dir --no-index
    --python= --system`,
  "python, python3, python2": "-c= -m= -u -i -I -E -s -S -B -O -W= -X= -v -q",
  "node, nodejs": `
    -e=/--eval= -p=/--print= -r=/--require= --import= --loader= -i/--interactive -c/--check --inspect --watch --test
    --env-file= -C=/--conditions=`,
  "perl, ruby": "-e= -E= -n -p -i -w -l -M= -I= -r= -c -v -a -F=",
  "bash, sh, zsh, dash": `
    -c= -l/--login -i -e -u -x -o= -O= -s --norc --noprofile --posix --rcfile= --init-file=`,
  cargo: `
    -r/--release -p=/--package= --manifest-path= -F=/--features= --all-features --no-default-features -v/--verbose
    -q/--quiet -j=/--jobs= --target= --target-dir= --bin= --example= --test= --workspace/--all --allow-dirty
    --no-verify --dry-run/-n --token= --registry= --locked --offline --frozen --force/-f --git= --path= --config= -Z=
    --root= --version=`,
  go: `
    -o= -v -race -run= -mod= -tags= -ldflags= -gcflags= -exec= -toolexec= -C= -u -w -n -x -a -count= -timeout= -cover
    -coverprofile= -json -modcache -cache -testcache -i -m -work`,
  "make, gmake": `
    -C=/--directory= -f=/--file=/--makefile= -j/--jobs -B/--always-make -n/--just-print/--dry-run/--recon
    -k/--keep-going -s/--silent/--quiet -i/--ignore-errors -e/--environment-overrides -I=/--include-dir= --eval=`,
  gh: `
    -R=/--repo= -y/--yes/--confirm -f=/--raw-field=/--field= -F= -X=/--method= -H=/--header= --input= -b=/--body=
    -t=/--title= -B=/--base= -d/--delete-branch --admin --auto -m/--merge -s/--squash -r/--rebase --public --private
    --visibility= -q=/--jq= --json= -w/--web -l=/--label= -a=/--assignee=`,
  aws: `
    --profile= --region= --recursive --force --output= --query= --endpoint-url= --no-verify-ssl --dryrun --delete
    --acl= --exclude= --include= --no-cli-pager --yes`,
  "gcloud, gsutil": `
    --project= -q/--quiet --region= --zone= --account= --format= -m -r/-R --configuration=
    --impersonate-service-account=`,
  az: "--subscription= -y/--yes -g=/--resource-group= -n=/--name= -o=/--output= --no-wait",
  systemctl: `
    --user --system --now -f/--force -q/--quiet -H=/--host= -t=/--type= --no-block -M=/--machine= --no-pager -a/--all
    -l/--full -n=/--lines=`,
  "apt, apt-get, aptitude": `
    -y/--yes/--assume-yes -q/--quiet -f/--fix-broken -t=/--target-release=/--default-release= -o=/--option=
    -c=/--config-file= --purge --reinstall --no-install-recommends --allow-downgrades --allow-unauthenticated
    -s/--simulate/--just-print/--dry-run -d/--download-only -m/--fix-missing --auto-remove/--autoremove -u`,
  brew: `
    -f/--force -q/--quiet -v/--verbose --cask --formula/--formulae --HEAD -s/--build-from-source --zap -n/--dry-run
    --ignore-dependencies`,
  psql: `
    -c=/--command= -f=/--file= -d=/--dbname= -h=/--host= -p=/--port= -U=/--username= -w/--no-password -W/--password
    -t/--tuples-only -A/--no-align -q/--quiet -v=/--set=/--variable= -X/--no-psqlrc -1/--single-transaction
    -o=/--output=`,
  "mysql, mariadb": `
    -e=/--execute= -u=/--user= -h=/--host= -P=/--port= -D=/--database= -p/--password -N/--skip-column-names -B/--batch
    -f/--force -s/--silent -S=/--socket=`,
  crontab: "-r -l -e -i -u=",
};

/** Programs whose options are whole words behind one dash. */
const ONE_DASH = new Set("terraform tofu find go java gcc g++ clang cc c++ openssl ffmpeg".split(" "));

/** One option of a program. */
export interface ProgramOption {
  /** Each way to write it, without a value. */
  readonly names: readonly string[];
  readonly takesValue: boolean;
  /** The options that it stands for. Empty: none but itself. */
  readonly means: readonly string[];
}

const options = new Map<string, readonly ProgramOption[]>();
for (const [names, text] of Object.entries(OPTIONS)) {
  for (const name of names.split(", "))
    options.set(name, [...(options.get(name) ?? []), ...wordsOf(text).map(optionOf)]);
}

/** The options of a program and of its subcommand; `undefined` if nothing is known about them. */
export function optionsOf(program: string, subcommand: readonly string[]): readonly ProgramOption[] | undefined {
  const found = [program, ...subcommand.map((word) => `${program} ${word}`)];
  const known = [...new Set(found)].flatMap((name) => options.get(name) ?? []).toReversed(); // a subcommand's come first
  return known.length === 0 && !options.has(program) ? undefined : known;
}

/** True for a program whose options are whole words behind one dash: `-auto-approve`. */
export function hasOneDash(program: string): boolean {
  return ONE_DASH.has(program);
}

function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

function optionOf(text: string): ProgramOption {
  const [written = "", means] = text.split(">");
  const names = written.split("/");
  return {
    names: names.map((name) => name.replace(/=$/, "")),
    takesValue: names.some((name) => name.endsWith("=")),
    means: means === undefined ? [] : means.split("+"),
  };
}
