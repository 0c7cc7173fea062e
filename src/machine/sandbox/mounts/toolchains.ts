import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { realOf } from "../../git/disk.ts";
import { isInside } from "../../../core/util/paths.ts";
import { words } from "../../../core/util/text.ts";

/** What programs need from a home: version managers, package managers of languages, git's settings. */
const TOOLCHAINS = words(`
  .nvm .fnm .volta .nodenv .n .bun .deno .npm-global .yarn .local/share/fnm .local/share/mise .local/share/rtx
  .local/share/pnpm .asdf .mise .proto .rustup .cargo .pyenv .local/share/uv .local/share/pipx .local/share/virtualenvs
  .virtualenvs .pixi .conda miniconda3 miniforge3 mambaforge anaconda3 micromamba .rbenv .rvm .gem .local/share/gem
  .goenv go .sdkman .jenv .jdks .m2 .gradle .ivy2 .sbt .coursier .ghcup .cabal .stack .opam .elan .julia .dotnet .nuget
  .swiftly .juliaup .nix-profile .nix-defexpr .local/bin .local/lib .linuxbrew bin
  .gitconfig .gitignore .gitignore_global .config/git
`);

/** Returns the real paths of a home, including its folders in PATH, that a command sees when it can reach a host. */
export function toolchainsOf(home: string, searched = process.env["PATH"] ?? ""): readonly string[] {
  const programs = searched.split(delimiter).filter((path) => path !== home && isInside(path, home));
  const all = [...TOOLCHAINS.map((name) => join(home, name)), ...programs];
  // A link is not followed: it could lead to what people keep.
  return [...new Set(all)].filter((path) => existsSync(path) && realOf(path) === path);
}
