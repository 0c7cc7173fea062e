// The JSON Schema compiler, loaded when the first schema is compiled.
export { Compile } from "typebox/schema";
export { Settings } from "typebox/system";
export { Format } from "typebox/format";
