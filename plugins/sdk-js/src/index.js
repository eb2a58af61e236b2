export { Diagnostic, ProviderError } from "./diagnostics.js";
export { log, setLogSink } from "./log.js";
export { Decimal, textOfNumber } from "./numbers.js";
export { ArgumentError, Context, DataSource, EphemeralResource, Provider, ProviderFunction, Resource } from "./provider.js";
export { Attribute, attribute, block, schema } from "./schema.js";
export { Service } from "./service.js";
export { typeToJson, types } from "./types.js";
export { Unknown, isUnknown, unknown } from "./unknown.js";
export { DynamicValue, ValueError, decode, encode } from "./value.js";
