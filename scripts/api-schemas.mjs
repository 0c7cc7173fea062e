/**
 * Writes the types of the API as JSON Schema (`npm run docs:api`). With --check, reports whether they are stale.
 *
 * In:  the types that src/serve/api-types.ts exports, and the named types that they reach.
 * Out: src/serve/api-schemas.json: an object of schemas by name, a line each, which /api/openapi.json serves. Objects
 *      may have more members than a schema names, because the API grows. Docstrings become descriptions. --check changes
 *      nothing; exit code 1 when the file is stale.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { projectRoot } from "./lib/project.mjs";

/** @typedef {{ [keyword: string]: unknown }} Schema */

const SOURCE = join(projectRoot, "src", "serve", "api-types.ts");
const file = join(projectRoot, "src", "serve", "api-schemas.json");

const { config } = ts.readConfigFile(join(projectRoot, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, projectRoot);
const program = ts.createProgram([SOURCE], options);
const checker = program.getTypeChecker();

/** @type {Map<string, Schema>} */
const schemas = new Map();
/** The type that has a name. @type {Map<string, ts.Symbol>} */
const owners = new Map();
for (const exported of checker.getExportsOfModule(/** @type {ts.Symbol} */ (moduleSymbol()))) {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  named(symbol, checker.getDeclaredTypeOfSymbol(symbol));
}
const lines = [...schemas].map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
const text = `{\n${lines.toSorted().join(",\n")}\n}\n`;

if (existsSync(file) && readFileSync(file, "utf8") === text) {
  process.stdout.write("src/serve/api-schemas.json describes the types of the API as they are\n");
} else if (process.argv.includes("--check")) {
  process.stdout.write("src/serve/api-schemas.json is not what the types of the API are: npm run docs:api\n");
  process.exitCode = 1;
} else {
  writeFileSync(file, text);
  process.stdout.write(`src/serve/api-schemas.json: ${schemas.size} schemas written\n`);
}

function moduleSymbol() {
  const source = program.getSourceFile(SOURCE);
  return source && checker.getSymbolAtLocation(source);
}

/**
 * Returns a reference to a named type, whose schema is made when it is first met.
 *
 * @param {ts.Symbol} symbol
 * @param {ts.Type} type
 * @returns {Schema}
 */
function named(symbol, type) {
  const { name } = symbol;
  if (owners.get(name) !== symbol && owners.has(name)) throw new Error(`two types of the API have the name ${name}`);
  if (!schemas.has(name)) {
    owners.set(name, symbol);
    schemas.set(name, {}); // a type may contain itself
    const description = docOf(symbol);
    schemas.set(name, { ...(description !== "" && { description }), ...inline(type) });
  }
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * @param {ts.Type} type
 * @returns {Schema}
 */
function schemaOf(type) {
  const alias = type.aliasSymbol;
  if (alias?.name === "Json" || alias?.name === "JsonSchema") return {};
  if (alias !== undefined && type.aliasTypeArguments === undefined && isStructure(type)) return named(alias, type);
  const { symbol } = type;
  if (symbol !== undefined && symbol.flags & ts.SymbolFlags.Interface && !isList(type)) return named(symbol, type);
  return inline(type);
}

/** @param {ts.Type} type */
function isStructure(type) {
  return type.isUnionOrIntersection() || Boolean(type.flags & ts.TypeFlags.Object);
}

/** @param {ts.Type} type */
function isList(type) {
  return checker.isArrayType(type) || checker.isTupleType(type);
}

/**
 * @param {ts.Type} type
 * @returns {Schema}
 */
function inline(type) {
  const { flags } = type;
  if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
  if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
  if (flags & ts.TypeFlags.BooleanLiteral) return { const: checker.typeToString(type) === "true" };
  if (flags & ts.TypeFlags.String) return { type: "string" };
  if (flags & ts.TypeFlags.Number) return { type: "number" };
  if (flags & ts.TypeFlags.Boolean) return { type: "boolean" };
  if (flags & ts.TypeFlags.Null) return { type: "null" };
  if (type.isUnion()) return unionOf(type.types);
  if (isList(type)) return listOf(/** @type {ts.TypeReference} */ (type));
  if (type.isIntersection() || flags & ts.TypeFlags.Object) return objectOf(type);
  throw new Error(`no schema for the type ${checker.typeToString(type)}`);
}

/**
 * @param {readonly ts.Type[]} types
 * @returns {Schema}
 */
function unionOf(types) {
  const given = types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
  const kinds = given.reduce((all, { flags }) => all | flags, 0);
  if (kinds & ts.TypeFlags.String && kinds & ts.TypeFlags.Number && kinds & ts.TypeFlags.Null) return {}; // `Json`
  const booleans = given.filter(({ flags }) => flags & ts.TypeFlags.BooleanLiteral);
  const texts = given.flatMap((each) => (each.isStringLiteral() ? [each.value] : []));
  const rest = given.filter((each) => !each.isStringLiteral() && !(booleans.length > 1 && booleans.includes(each)));
  const all = [
    ...(texts.length > 1 ? [{ enum: texts.toSorted() }] : texts.map((value) => ({ const: value }))),
    ...(booleans.length > 1 ? [{ type: "boolean" }] : []),
    ...rest.map(schemaOf),
  ];
  return all.length === 1 && all[0] !== undefined ? all[0] : { anyOf: all };
}

/**
 * @param {ts.TypeReference} type
 * @returns {Schema}
 */
function listOf(type) {
  const [first, ...more] = checker.getTypeArguments(type);
  if (first === undefined) throw new Error("a list without a type");
  return { type: "array", items: more.length === 0 ? schemaOf(first) : unionOf([first, ...more]) };
}

/**
 * @param {ts.Type} type
 * @returns {Schema}
 */
function objectOf(type) {
  /** @type {{ [name: string]: Schema }} */
  const properties = {};
  const required = [];
  for (const symbol of checker.getPropertiesOfType(type)) {
    const value = checker.getTypeOfSymbol(symbol);
    if (value.flags & ts.TypeFlags.Undefined) continue; // a member that is never there
    const description = docOf(symbol);
    properties[symbol.name] = { ...schemaOf(value), ...(description !== "" && { description }) };
    if (!(symbol.flags & ts.SymbolFlags.Optional)) required.push(symbol.name);
  }
  const others = checker.getIndexTypeOfType(type, ts.IndexKind.String);
  const description = memberDoc(type);
  return {
    ...(description !== "" && { description }),
    type: "object",
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(others !== undefined && { additionalProperties: schemaOf(others) }),
  };
}

/**
 * Returns the docstring before a member of a union, which the checker does not keep; "" if the type is none.
 *
 * @param {ts.Type} type
 */
function memberDoc(type) {
  const nodes = checker.getPropertiesOfType(type).map((property) => property.declarations?.[0]?.parent);
  const member = nodes.map(unionMember).find((each) => each !== undefined);
  if (member === undefined || !ts.isUnionTypeNode(member.parent)) return "";
  const { types, parent } = member.parent;
  const outer = ts.isParenthesizedTypeNode(parent) ? parent : member.parent;
  const before = types[types.findIndex((each) => each === member) - 1]?.end ?? outer.getFullStart();
  const between = member.getSourceFile().text.slice(before, member.getStart());
  const [, doc = ""] = /\/\*\*([^]*?)\*\//.exec(between) ?? [];
  return doc.replaceAll(/\s*\n\s*\* ?|\s+/g, " ").trim();
}

/**
 * Returns the outermost type around a node that is a member of a union.
 *
 * @param {ts.Node} [node]
 * @returns {ts.Node | undefined}
 */
function unionMember(node) {
  if (node === undefined || !ts.isTypeNode(node)) return undefined;
  return ts.isUnionTypeNode(node.parent) ? node : unionMember(node.parent);
}

/** @param {ts.Symbol} symbol */
function docOf(symbol) {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s+/g, " ").trim();
}
