import { schema as emptySchema, schemaType } from "./schema.js";

/** A managed resource type. Subclasses override the methods that they need. */
export class Resource {
  /** Returns the schema. */
  schema() {
    throw new TypeError(`${this.constructor.name} has no schema()`);
  }

  /** Checks a configuration, which may contain unknown values; throws a ProviderError. */
  validate(_config, _context) {}

  /** Changes the plan of a create (`prior` is null) or an update. Returns the planned state. */
  plan(_prior, planned, _context) {
    return planned;
  }

  /** Creates an object. Returns its state, in which nothing is unknown. */
  create(_planned, _context) {
    throw new TypeError(`${this.constructor.name} has no create()`);
  }

  /** Reads an object. Returns its state, or null if the object does not exist. */
  read(state, _context) {
    return state;
  }

  /** Changes an object. Returns its state. */
  update(_prior, _planned, _context) {
    throw new TypeError(`${this.constructor.name} has no update()`);
  }

  /** Deletes an object. */
  delete(_state, _context) {}

  /** Finds an object by its ID. Returns a state, which `read` completes. */
  import(_id, _context) {
    throw new TypeError(`${this.constructor.name} cannot be imported`);
  }

  /**
   * Functions by schema version: each converts the parsed JSON of a state that was stored with
   * this version to that of the current version.
   */
  upgraders() {
    return {};
  }
}

/** A data source. */
export class DataSource {
  schema() {
    throw new TypeError(`${this.constructor.name} has no schema()`);
  }

  validate(_config, _context) {}

  /** Returns the state: the configuration and the computed attributes. */
  read(_config, _context) {
    throw new TypeError(`${this.constructor.name} has no read()`);
  }
}

/** A resource that exists only during a run. */
export class EphemeralResource {
  schema() {
    throw new TypeError(`${this.constructor.name} has no schema()`);
  }

  validate(_config, _context) {}

  /** Returns the result. `context.renewAt` and `context.private` are passed to `renew` and `close`. */
  open(_config, _context) {
    throw new TypeError(`${this.constructor.name} has no open()`);
  }

  renew(_context) {}

  close(_context) {}
}

/** A function. `call` is a pure function of the arguments. */
export class ProviderFunction {
  /** @param parameters, variadic: {name, type, allowNull, allowUnknown, description} */
  constructor({ summary, description = "", parameters = [], variadic = null, returns, call, deprecated = null }) {
    Object.assign(this, { summary, description, parameters, variadic, returns, call, deprecated });
  }
}

/** The error of a function call that one argument caused. */
export class ArgumentError extends Error {
  constructor(argument, message) {
    super(message);
    this.name = "ArgumentError";
    this.argument = argument;
  }
}

/** A provider: its schema, its parts, and the function that creates the client of a configuration. */
export class Provider {
  constructor({
    schema = emptySchema(),
    validate = () => {},
    configure = () => null,
    resources = {},
    dataSources = {},
    ephemeralResources = {},
    functions = {},
  } = {}) {
    this.schema = schema;
    this.type = schemaType(schema);
    this.validate = validate;
    this.configure = configure;
    this.resources = withTypes(resources);
    this.dataSources = withTypes(dataSources);
    this.ephemeralResources = withTypes(ephemeralResources);
    this.functions = functions;
    for (const [name, one] of Object.entries(functions)) {
      if (one.returns === undefined || typeof one.call !== "function") {
        throw new TypeError(`the function ${name} needs \`returns\` and \`call\``);
      }
    }
  }
}

function withTypes(parts) {
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => {
      const schema = part.schema();
      return [name, { part, schema, type: schemaType(schema) }];
    }),
  );
}

/** The context of one call. */
export class Context {
  constructor({ client = null, config = null, privateData = new Uint8Array(0) } = {}) {
    /** The result of the provider's `configure`. */
    this.client = client;
    /** The configuration, which contains write-only values. */
    this.config = config;
    /** Bytes that are stored with the object, and that only the provider interprets. */
    this.private = privateData;
    /** The time by which an ephemeral resource must be renewed, as a Date. */
    this.renewAt = null;
    /** Warnings and errors that do not end the call. */
    this.diagnostics = [];
    /** Paths whose change requires a replacement, during `plan`. */
    this.requiresReplace = [];
    this.partial = null;
    this.recorder = () => {};
  }

  /** Adds a warning or an error. */
  report(diagnostic) {
    this.diagnostics.push(diagnostic);
  }

  /**
   * Records the state of an object during `create` or `update`. It is stored if the operation does
   * not return, for whatever reason.
   */
  savePartial(state) {
    this.partial = state;
    this.recorder(state);
  }
}
