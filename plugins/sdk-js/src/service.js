// Converts the records of the WIT interface to calls of a provider's parts, and results to records.

import { check } from "./check.js";
import { Diagnostic, ProviderError, diagnosticRecord, diagnosticsOf, pathRecord } from "./diagnostics.js";
import { fromJson, parseJson } from "./json.js";
import { planChange } from "./plan.js";
import { ArgumentError, Context } from "./provider.js";
import { deprecationRecord, markdown, schemaRecord } from "./schema.js";
import { isUnknown } from "./unknown.js";
import { typeToJson } from "./types.js";
import { decodeUtf8 } from "./utf8.js";
import { decode, encode, withoutUnknown } from "./value.js";

const EMPTY = new Uint8Array(0);
const NIL = new Uint8Array([0xc0]);

/** The exports of a provider. */
export class Service {
  #provider;
  #record;
  #client = null;

  /** @param record records an encoded state and private data durably, during an apply */
  constructor(provider, record = () => {}) {
    this.#provider = provider;
    this.#record = record;
  }

  // ---- metadata and schemas

  getMetadata() {
    const { resources, dataSources, ephemeralResources, functions } = this.#provider;
    return {
      serverCapabilities: serverCapabilities(),
      diagnostics: [],
      resources: Object.keys(resources),
      dataSources: Object.keys(dataSources),
      ephemeralResources: Object.keys(ephemeralResources),
      listResources: [],
      actions: [],
      functions: Object.keys(functions),
    };
  }

  getProviderSchema() {
    const { schema, resources, dataSources, ephemeralResources } = this.#provider;
    return {
      serverCapabilities: serverCapabilities(),
      diagnostics: [],
      provider: schemaRecord(schema),
      providerMeta: null,
      resources: schemas(resources),
      dataSources: schemas(dataSources),
      ephemeralResources: schemas(ephemeralResources),
      listResources: [],
      actions: [],
      functions: this.getFunctions(),
    };
  }

  getResourceIdentitySchemas() {
    return { schemas: [], diagnostics: [] };
  }

  // ---- provider configuration

  validateProviderConfig(bytes) {
    const { schema, type, validate } = this.#provider;
    return diagnose("validating the provider's configuration", (report) => {
      const config = decode(bytes, type);
      report(...check(schema, config, true));
      if (config !== null) validate(config);
    });
  }

  configureProvider({ config }) {
    return diagnose("configuring the provider", () => {
      const context = new Context();
      this.#client = this.#provider.configure(decode(config, this.#provider.type), context);
    });
  }

  stopProvider() {}

  // ---- managed resources

  validateResourceConfig(request) {
    return this.#validate("resources", request);
  }

  upgradeResourceState({ typeName, version, rawState }) {
    let upgradedState = EMPTY;
    const diagnostics = diagnose(`upgrading the state of ${typeName}`, () => {
      const { part, schema, type } = this.#find("resources", typeName);
      if (rawState.tag !== "json") {
        throw new ProviderError(
          "Unable to read the stored state",
          "It is in the format of Terraform 0.11 and older. Refresh it with Terraform 0.12 first.",
        );
      }
      let json = readable(() => parseJson(decodeUtf8(rawState.val)));
      if (Number(version) !== schema.version) {
        const upgrade = part.upgraders()[Number(version)];
        if (upgrade === undefined) {
          throw new ProviderError(
            "Unable to upgrade the stored state",
            `The state of ${typeName} was stored with schema version ${version}. This provider has version ` +
              `${schema.version} and cannot upgrade from the stored version.`,
          );
        }
        json = upgrade(json);
      }
      upgradedState = stored(schema, readable(() => fromJson(json, type)), type);
    });
    return { upgradedState, diagnostics };
  }

  upgradeResourceIdentity({ typeName }) {
    const error = Diagnostic.error("Resource without identity", `${typeName} has no identity.`);
    return { upgradedIdentity: EMPTY, diagnostics: [diagnosticRecord(error)] };
  }

  readResource(request) {
    const response = {
      newState: request.currentState,
      diagnostics: [],
      private: request.private,
      deferred: null,
      newIdentity: request.currentIdentity,
    };
    response.diagnostics = diagnose(`reading ${request.typeName}`, (report) => {
      const { part, schema, type } = this.#find("resources", request.typeName);
      const state = decode(request.currentState, type);
      if (state === null) return;
      const context = this.#context({ privateData: request.private });
      const read = reporting(context, report, () => part.read(state, context));
      response.private = context.private;
      response.newState = read === null || read === undefined ? NIL : stored(schema, read, type);
    });
    return response;
  }

  planResourceChange(request) {
    const response = {
      plannedState: request.proposedNewState,
      requiresReplace: [],
      plannedPrivate: request.priorPrivate,
      diagnostics: [],
      legacyTypeSystem: false,
      deferred: null,
      plannedIdentity: request.priorIdentity,
    };
    response.diagnostics = diagnose(`planning ${request.typeName}`, (report) => {
      const { part, schema, type } = this.#find("resources", request.typeName);
      const [config, prior, proposed] = [request.config, request.priorState, request.proposedNewState].map((bytes) =>
        decode(bytes, type),
      );
      if (proposed === null) return;
      const { planned, requiresReplace } = planChange(schema, config, prior, proposed);
      const context = this.#context({ config, privateData: request.priorPrivate });
      const changed = reporting(context, report, () => part.plan(prior, planned, context));
      response.plannedState = encode(changed, type);
      response.requiresReplace = [...requiresReplace, ...context.requiresReplace].map(pathRecord);
      response.plannedPrivate = context.private;
    });
    return response;
  }

  applyResourceChange(request) {
    const { typeName } = request;
    const response = {
      newState: request.priorState,
      private: request.plannedPrivate,
      diagnostics: [],
      legacyTypeSystem: false,
      newIdentity: request.plannedIdentity,
    };
    let operation = "applying";
    const diagnostics = diagnose(() => `${operation} ${typeName}`, (report) => {
      const { part, schema, type } = this.#find("resources", typeName);
      const [config, prior, planned] = [request.config, request.priorState, request.plannedState].map((bytes) =>
        decode(bytes, type),
      );
      const context = this.#context({ config, privateData: request.plannedPrivate });
      context.recorder = (state) => this.#record(stored(schema, withoutUnknown(state)[0], type), context.private);
      try {
        let state = null;
        if (planned === null) {
          operation = "deleting";
          if (prior !== null) reporting(context, report, () => part.delete(prior, context));
        } else if (prior === null) {
          operation = "creating";
          state = reporting(context, report, () => part.create(planned, context));
        } else {
          operation = "updating";
          state = reporting(context, report, () => part.update(prior, planned, context));
        }
        const [known, unknownPath] = withoutUnknown(state);
        response.newState = known === null || known === undefined ? NIL : stored(schema, known, type);
        if (planned !== null && known === null) {
          throw new ProviderError("Provider returned no state", `${operation} ${typeName} returned nothing.`);
        }
        if (unknownPath !== null) {
          throw new ProviderError(
            "Provider returned an unknown value after apply",
            `${typeName}: ${unknownPath} is still unknown. This is an error in the provider.`,
          );
        }
      } catch (error) {
        if (context.partial !== null) response.newState = stored(schema, withoutUnknown(context.partial)[0], type);
        throw error;
      } finally {
        response.private = context.private;
      }
    });
    response.diagnostics = diagnostics;
    return response;
  }

  importResourceState({ typeName, target }) {
    let importedResources = [];
    const diagnostics = diagnose(`importing ${typeName}`, (report) => {
      const { part, schema, type } = this.#find("resources", typeName);
      if (target.tag !== "id") throw new ProviderError("Import without ID", `${typeName} is imported by its ID.`);
      const context = this.#context({});
      const state = reporting(context, report, () => part.import(target.val, context));
      importedResources = [{ typeName, state: stored(schema, state, type), private: context.private, identity: null }];
    });
    return { importedResources, diagnostics, deferred: null };
  }

  // ---- data sources

  validateDataResourceConfig(request) {
    return this.#validate("dataSources", request);
  }

  readDataSource({ typeName, config: bytes }) {
    let state = EMPTY;
    const diagnostics = diagnose(`reading data.${typeName}`, (report) => {
      const { part, type } = this.#find("dataSources", typeName);
      const config = decode(bytes, type);
      const context = this.#context({ config });
      state = encode(reporting(context, report, () => part.read(config, context)), type);
    });
    return { state, diagnostics, deferred: null };
  }

  // ---- ephemeral resources

  validateEphemeralResourceConfig(request) {
    return this.#validate("ephemeralResources", request);
  }

  openEphemeralResource({ typeName, config: bytes }) {
    const response = { result: EMPTY, diagnostics: [], renewAt: null, private: EMPTY, deferred: null };
    response.diagnostics = diagnose(`opening ${typeName}`, (report) => {
      const { part, type } = this.#find("ephemeralResources", typeName);
      const config = decode(bytes, type);
      const context = this.#context({ config });
      response.result = encode(reporting(context, report, () => part.open(config, context)), type);
      response.renewAt = timestamp(context.renewAt);
      response.private = context.private;
    });
    return response;
  }

  renewEphemeralResource(typeName, privateData) {
    const response = { diagnostics: [], renewAt: null, private: privateData };
    response.diagnostics = diagnose(`renewing ${typeName}`, (report) => {
      const { part } = this.#find("ephemeralResources", typeName);
      const context = this.#context({ privateData });
      reporting(context, report, () => part.renew(context));
      response.renewAt = timestamp(context.renewAt);
      response.private = context.private;
    });
    return response;
  }

  closeEphemeralResource(typeName, privateData) {
    return diagnose(`closing ${typeName}`, (report) => {
      const { part } = this.#find("ephemeralResources", typeName);
      const context = this.#context({ privateData });
      reporting(context, report, () => part.close(context));
    });
  }

  // ---- functions

  getFunctions() {
    return Object.entries(this.#provider.functions).map(([name, one]) => [
      name,
      {
        parameters: one.parameters.map(parameterRecord),
        variadicParameter: one.variadic === null ? null : parameterRecord(one.variadic),
        returnType: typeToJson(one.returns),
        summary: one.summary,
        description: markdown(one.description),
        deprecation: deprecationRecord(one.deprecated),
      },
    ]);
  }

  /** Returns the encoded result, or throws a record with the error. */
  callFunction(name, encoded) {
    try {
      const one = this.#provider.functions[name];
      if (one === undefined) throw new ProviderError("Unknown function", `The provider has no function ${name}.`);
      const parameters = encoded.map((_, index) => one.parameters[index] ?? one.variadic);
      if (parameters.includes(null)) throw new ProviderError("Too many arguments", `for the function ${name}`);
      return encode(one.call(...encoded.map((bytes, index) => decode(bytes, parameters[index].type))), one.returns);
    } catch (error) {
      if (error instanceof ArgumentError) throw functionError(error.message, error.argument);
      const [{ summary, detail }] = diagnosticsOf(error, `calling the function ${name}`);
      throw functionError(detail === "" ? summary : `${summary}: ${detail}`, null);
    }
  }

  // ----

  #find(kind, name) {
    const found = this.#provider[kind][name];
    if (found === undefined) throw new ProviderError("Unknown type", `The provider has no type ${name}.`);
    return found;
  }

  #validate(kind, { typeName, config: bytes, clientCapabilities }) {
    return diagnose(`validating ${typeName}`, (report) => {
      const { part, schema, type } = this.#find(kind, typeName);
      const config = decode(bytes, type);
      report(...check(schema, config, clientCapabilities.writeOnlyAttributesAllowed));
      if (config === null || isUnknown(config)) return;
      const context = new Context({ config });
      reporting(context, report, () => part.validate(config, context));
    });
  }

  #context(parts) {
    return new Context({ client: this.#client, ...parts });
  }
}

/** Reads a stored state. */
function readable(read) {
  try {
    return read();
  } catch (error) {
    throw new ProviderError("Unable to read the stored state", error.message);
  }
}

/** Runs an operation, and returns the records of its diagnostics and of the exception that ended it. */
function diagnose(operation, run) {
  const diagnostics = [];
  try {
    run((...more) => diagnostics.push(...more));
  } catch (error) {
    diagnostics.push(...diagnosticsOf(error, typeof operation === "string" ? operation : operation()));
  }
  return diagnostics.map(diagnosticRecord);
}

/** Calls a method of a part, and reports the diagnostics of its context even if it throws. */
function reporting(context, report, call) {
  try {
    const result = call();
    if (typeof result?.then === "function") {
      throw new TypeError("the method is asynchronous; methods of providers must return their result");
    }
    return result;
  } finally {
    report(...context.diagnostics);
  }
}

/** Encodes a state without the values of write-only attributes. */
function stored(schema, state, type) {
  return encode(withoutWriteOnly(schema, state), type);
}

function withoutWriteOnly({ attributes, blocks = {} }, state) {
  if (typeof state !== "object" || state === null) return state;
  const copy = Object.assign(Object.create(null), state);
  for (const [name, one] of Object.entries(attributes)) {
    if (one.isWriteOnly) copy[name] = null;
    else if (one.nested !== null) copy[name] = inEach(one.nested.nesting, one.nested, copy[name]);
  }
  for (const [name, one] of Object.entries(blocks)) copy[name] = inEach(one.nesting, one.contents, copy[name]);
  return copy;
}

function inEach(nesting, contents, value) {
  if (value === null || value === undefined || isUnknown(value)) return null;
  if (nesting === "single" || nesting === "group") return withoutWriteOnly(contents, value);
  if (Array.isArray(value)) return value.map((one) => withoutWriteOnly(contents, one));
  if (nesting !== "map") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutWriteOnly(contents, one)]));
}

function schemas(parts) {
  return Object.entries(parts).map(([name, { schema }]) => [name, schemaRecord(schema)]);
}

function parameterRecord({ name, type, allowNull = false, allowUnknown = false, description = "" }) {
  return {
    name,
    type: typeToJson(type),
    allowNullValue: allowNull,
    allowUnknownValues: allowUnknown,
    description: markdown(description),
  };
}

function serverCapabilities() {
  return {
    planDestroy: false,
    getProviderSchemaOptional: true,
    moveResourceState: false,
    generateResourceConfig: false,
  };
}

function timestamp(date) {
  if (date === null) return null;
  const milliseconds = date.getTime();
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanoseconds: (milliseconds - seconds * 1000) * 1_000_000 };
}

function functionError(text, functionArgument) {
  return { text, functionArgument };
}
