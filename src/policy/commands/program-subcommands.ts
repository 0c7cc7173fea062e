/*
 * The subcommands of programs, with their aliases. Rules that ask or deny are compared by it (`rules/spelling.ts`).
 */

/** `run=container.run`: a subcommand, and other names of it; a dot separates words. By program. */
const ALIASES: { readonly [names: string]: string } = {
  "docker, podman, nerdctl": `
    run=container.run exec=container.exec rm=container.rm,container.remove kill=container.kill stop=container.stop
    start=container.start restart=container.restart create=container.create cp=container.cp commit=container.commit
    attach=container.attach export=container.export logs=container.logs pause=container.pause rename=container.rename
    update=container.update ps=container.ls,container.list,container.ps inspect=container.inspect,image.inspect
    rmi=image.rm,image.remove images=image.ls,image.list push=image.push pull=image.pull
    build=image.build,buildx.build,builder.build,buildx.b tag=image.tag save=image.save load=image.load
    import=image.import info=system.info events=system.events volume.rm=volume.remove network.rm=network.remove
    volume.ls=volume.list network.ls=network.list secret.rm=secret.remove`,
  npm: `
    install=i,in,ins,inst,insta,instal,isnt,isnta,isntal,isntall,add uninstall=un,unlink,remove,rm,r
    run.test=test,t,tst,run-script.test,rum.test,urn.test run.start=start,run-script.start
    run.stop=stop,run-script.stop run.restart=restart,run-script.restart run=run-script,rum,urn exec=x
    ci=clean-install,ic,install-clean,isntall-clean update=up,u,upgrade,udpate list=ls,ll,la config=c view=v,info,show
    owner=author dist-tag=dist-tags link=ln version=verison login=adduser,add-user rebuild=rb search=find,s,se
    create=init,innit config.set=set config.get=get dedupe=ddp install-test=it
    install-ci-test=cit,clean-install-test,sit docs=home bugs=issues org=ogr help=hlep explain=why access=
    approve-scripts= audit= cache= completion= deny-scripts= deprecate= diff= doctor= edit= explore= find-dupes= fund=
    help-search= install-scripts= logout= outdated= pack= ping= pkg= prefix= profile= prune= publish= query= repo=
    root= sbom= shrinkwrap= stage= star= stars= team= token= trust= undeprecate= unpublish= unstar= whoami=`,
  pnpm: `
    install=i add= remove=rm,un,uninstall run=run-script run.test=test,t list=ls update=up,upgrade exec= link=ln dlx=
    publish= config=c`,
  yarn: `
    install= add= remove= run= run.test=test upgrade=up dlx= exec= publish=npm.publish global= config= cache= init=
    link= workspace= workspaces= set= why=`,
  bun: "install=i add=a remove=rm run= x= update= link= pm= publish= test= init= create=c upgrade=",
  "kubectl, oc": `
    delete= apply= create= edit= patch= scale= exec= get= logs=log describe= rollout= drain= port-forward= replace=
    run= set= config= label= annotate= cp=`,
  helm: `
    uninstall=un,del,delete list=ls install= upgrade= rollback= repo= dependency=dep,dependencies repo.remove=repo.rm`,
  "terraform, tofu": `
    apply= destroy= plan= init= import= state= taint= workspace=env force-unlock= output= refresh=`,
  "pip, pip3": "install= uninstall= download= config=",
  cargo: `
    build=b run=r test=t check=c doc=d remove=rm add= publish= install= uninstall= yank= login= clean= clippy= fmt=`,
  brew: "uninstall=rm,remove list=ls install= upgrade= info=abv search=-S cleanup= tap= untap= update=up",
  gh: `
    pr= issue= repo= release= api= auth= secret= workflow= run= pr.create=pr.new issue.create=issue.new
    repo.create=repo.new release.create=release.new pr.list=pr.ls issue.list=issue.ls secret.delete=secret.remove
    variable.delete=variable.remove codespace=cs`,
  "dnf, yum": "remove=erase,rm install=in update=upgrade,up",
  git: `
    add=stage remote.remove=remote.rm am= annotate= apply= archive= bisect= blame= branch= bundle= cat-file=
    check-attr= check-ignore= check-mailmap= checkout= checkout-index= check-ref-format= cherry= cherry-pick= citool=
    clean= clone= column= commit= commit-graph= commit-tree= config= count-objects= credential= describe= diff=
    diff-files= diff-index= diff-tree= difftool= fast-export= fast-import= fetch= fetch-pack= filter-branch=
    filter-repo= flow= fmt-merge-msg= for-each-ref= for-each-repo= format-patch= fsck=fsck-objects gc=
    get-tar-commit-id= grep= gui= gitk= hash-object= help= hook= index-pack= init=init-db instaweb=
    interpret-trailers= lfs= log= ls-files= ls-remote= ls-tree= mailinfo= mailsplit= maintenance= merge= merge-base=
    merge-file= merge-index= merge-tree= mergetool= mktag= mktree= multi-pack-index= mv= name-rev= notes=
    pack-objects= pack-redundant= pack-refs= patch-id= prune= prune-packed= pull= push= range-diff= read-tree= rebase=
    receive-pack= reflog= refs= remote= repack= replace= replay= request-pull= rerere= reset= restore= rev-list=
    rev-parse= revert= rm= scalar= send-email= send-pack= shortlog= show= show-branch= show-index= show-ref=
    sparse-checkout= stash= status= stripspace= submodule= subtree= svn= switch= symbolic-ref= tag= unpack-file=
    unpack-objects= update-index= update-ref= update-server-info= upload-archive= upload-pack= var= verify-commit=
    verify-pack= verify-tag= version= whatchanged= worktree= write-tree= backfill= diagnose= bugreport= crypt= secret=
    absorb= extras= town= spice= cliff=`,
};

const subcommands = new Map<string, ReadonlyMap<string, readonly string[]>>();
for (const [names, text] of Object.entries(ALIASES)) {
  const entries = text
    .trim()
    .split(/\s+/)
    .flatMap((entry) => {
      const [name = "", others = ""] = entry.split("=");
      const all = [name, ...(others === "" ? [] : others.split(","))];
      return all.map((each) => [each, name.split(".")] as const);
    });
  for (const name of names.split(", ")) subcommands.set(name, new Map(entries));
}

/** The subcommands of a program by each of their names, "container.run" for two words; `undefined`: it has none. */
export function subcommandsOf(program: string): ReadonlyMap<string, readonly string[]> | undefined {
  return subcommands.get(program);
}

/**
 * The subcommand that a word names, in full: `docker run` is `container run`. npm takes the beginning of a name too, and
 * capitals instead of hyphens (`npm pub`, `npm distTag`; lib/utils/cmd-list.js of npm 11). `undefined`: it is not known.
 */
export function subcommandNamed(program: string, word: string): readonly string[] | undefined {
  const all = subcommands.get(program);
  const found = all?.get(word);
  if (found !== undefined || program !== "npm" || word === "") return found;
  const name = word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const begun = Array.from(all ?? []).flatMap(([each, full]) =>
    each.startsWith(name) && !each.includes(".") ? [full.join(" ")] : [],
  );
  const exact = all?.get(name);
  return exact ?? (new Set(begun).size === 1 ? begun[0]?.split(" ") : undefined);
}

/** The first word of the subcommand that a word names, in full; the word itself if it is not known. */
export function fullSubcommand(program: string, word: string): string {
  return (program === "npm" ? subcommandNamed(program, word)?.[0] : undefined) ?? word;
}
