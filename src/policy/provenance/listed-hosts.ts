/**
 * Hosts of code and documentation from which pages are fetched with a larger budget although nobody named them. Each is
 * run by one publisher, who alone reads its logs. Not listed: hosts below which anybody can publish under their own
 * name and learn what was requested (`*.github.io`, `*.pages.dev`, `*.readthedocs.io`, blogs, storage, CDNs that
 * publish statistics), and hosts that redirect wherever a query says. "*." is any name below.
 */
const LISTED = `
github.com api.github.com raw.githubusercontent.com docs.github.com gitlab.com docs.gitlab.com codeberg.org
bitbucket.org git.kernel.org git.savannah.gnu.org
npmjs.com docs.npmjs.com registry.npmjs.org pypi.org docs.pypi.org packaging.python.org crates.io docs.rs lib.rs
pkg.go.dev proxy.golang.org rubygems.org packagist.org hex.pm hexdocs.pm hackage.haskell.org central.sonatype.com
repo1.maven.org nuget.org hub.docker.com packages.debian.org
developer.mozilla.org html.spec.whatwg.org *.spec.whatwg.org w3.org rfc-editor.org datatracker.ietf.org
json-schema.org caniuse.com web.dev
nodejs.org typescriptlang.org docs.python.org python.org peps.python.org rust-lang.org doc.rust-lang.org
go.dev ruby-lang.org docs.ruby-lang.org php.net en.cppreference.com isocpp.org kotlinlang.org
docs.swift.org dart.dev api.flutter.dev docs.flutter.dev elixir-lang.org docs.scala-lang.org docs.oracle.com
learn.microsoft.com developer.apple.com developer.android.com docs.aws.amazon.com docs.cloud.google.com
react.dev vuejs.org angular.dev svelte.dev nextjs.org vite.dev vitest.dev jestjs.io eslint.org webpack.js.org
tailwindcss.com expressjs.com hono.dev docs.djangoproject.com flask.palletsprojects.com fastapi.tiangolo.com
docs.pytest.org docs.pydantic.dev numpy.org pandas.pydata.org docs.scipy.org docs.pytorch.org scikit-learn.org
guides.rubyonrails.org api.rubyonrails.org docs.spring.io laravel.com
kubernetes.io docs.docker.com docs.podman.io developer.hashicorp.com docs.ansible.com nginx.org *.apache.org
postgresql.org sqlite.org dev.mysql.com mariadb.com redis.io mongodb.com
git-scm.com gnu.org gcc.gnu.org llvm.org clang.llvm.org cmake.org man7.org kernel.org docs.kernel.org
manpages.debian.org wiki.debian.org wiki.archlinux.org man.archlinux.org man.openbsd.org docs.freebsd.org
stackoverflow.com superuser.com serverfault.com askubuntu.com *.stackexchange.com *.wikipedia.org arxiv.org
`
  .trim()
  .split(/\s+/);

const NAMES: ReadonlySet<string> = new Set(LISTED.filter((each) => !each.startsWith("*.")));
const BELOW = LISTED.filter((each) => each.startsWith("*.")).map((each) => each.slice(1));

/**
 * Returns the labels of a listed host that the list leaves open: "" for most. `undefined` for a host not on the list.
 */
export function openLabels(host: string): string | undefined {
  if (NAMES.has(host)) return "";
  const below = BELOW.find((end) => host.endsWith(end));
  return below === undefined ? undefined : host.slice(0, -below.length);
}
