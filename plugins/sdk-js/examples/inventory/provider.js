// The provider `inventory`. The same provider exists in Rust, Go and Python.

import {
  ArgumentError,
  DataSource,
  Diagnostic,
  DynamicValue,
  Provider,
  ProviderError,
  ProviderFunction,
  Resource,
  attribute,
  block,
  http,
  isUnknown,
  log,
  run,
  schema,
  shared,
  textOfNumber,
  typeToJson,
  types,
} from "../../src/index.js";

/** The most units that the warehouse stores. */
const CAPACITY = 1000;

function slug(text) {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

class Item extends Resource {
  schema() {
    return schema({
      version: 1,
      description: "An item of the inventory.",
      attributes: {
        name: attribute.string().required().forceNew().description("The name, from which the ID is derived."),
        quantity: attribute
          .number()
          .default(1)
          .validate((quantity) => (quantity < 0 ? "must not be negative" : null))
          .description("The number of units."),
        price: attribute.number().optional().description("The price of a unit."),
        tags: attribute.map(types.string).optional().description("Labels with values."),
        groups: attribute.set(types.string).optional().description("The groups of the item."),
        size: attribute.nested
          .single({
            width: attribute.number().required().description("The width."),
            height: attribute.number().required().description("The height."),
            unit: attribute.string().default("cm").description("The unit of both lengths."),
            area: attribute.number().computed().description("The product of both lengths."),
          })
          .optional()
          .description("The size of the item."),
        note: attribute.dynamic().optional().description("A value of any type."),
        supplier: attribute.string().optional().sensitive().description("The supplier, which is confidential."),
        pin: attribute.string().optional().writeOnly().description("The PIN of the shelf, which is not stored."),
        id: attribute.string().computed().stable().description("The ID."),
        total: attribute.number().computed().description("The number of units, including the parts."),
        locked: attribute.bool().computed().description("Whether the shelf has a PIN."),
      },
      blocks: {
        part: block.list({
          attributes: {
            name: attribute.string().required().description("The name of the part."),
            count: attribute.number().optional().description("The number of parts of each unit."),
          },
        }),
      },
    });
  }

  validate(config, context) {
    if (!isUnknown(config.price) && config.price === 0) {
      context.report(Diagnostic.warning("The item is free", "Its price is zero.", ["price"]));
    }
  }

  create(planned, context) {
    if (planned.name === "broken") throw new TypeError("the shelf is broken");
    const state = this.#stored(planned, context);
    log.info("item stored", { id: state.id });
    if (planned.name === "slow") {
      context.savePartial(state);
      if (run.sleep(600_000)) {
        throw new ProviderError("Interrupted", "The operation ended early because the run is interrupted.");
      }
    }
    if (planned.quantity > CAPACITY) {
      context.savePartial({ ...state, quantity: CAPACITY, total: CAPACITY });
      throw new ProviderError("The warehouse is full", `Only ${CAPACITY} units were stored.`, ["quantity"]);
    }
    return state;
  }

  update(_prior, planned, context) {
    return this.#stored(planned, context);
  }

  import(id) {
    const name = id.replace(/^[^-]*-/, "");
    if (name === "") throw new ProviderError("Invalid ID", `"${id}" is not PREFIX-NAME.`);
    return { id, name, quantity: 1, total: 1, locked: false, part: [] };
  }

  upgraders() {
    return {
      // Version 0 has `count` instead of `quantity`, and no `locked`.
      0: ({ count, ...rest }) => ({ ...rest, quantity: count, locked: false, part: rest.part ?? [] }),
    };
  }

  #stored(planned, context) {
    const parts = planned.part.reduce((sum, part) => sum + BigInt(part.count ?? 1), 0n);
    return {
      ...planned,
      id: isUnknown(planned.id) ? `${context.client.prefix}-${slug(planned.name)}` : planned.id,
      total: BigInt(planned.quantity) * (1n + parts),
      locked: context.config.pin !== null,
      size: planned.size && { ...planned.size, area: planned.size.width * planned.size.height },
    };
  }
}

class Lookup extends DataSource {
  schema() {
    return schema({
      description: "The IDs of items.",
      attributes: {
        names: attribute.list(types.string).required().description("The names of the items."),
        ids: attribute.map(types.string).computed().description("The ID of each name."),
        found: attribute.number().computed().description("The number of names."),
      },
    });
  }

  read({ names }, { client }) {
    const ids = Object.fromEntries(names.map((name) => [name, `${client.prefix}-${slug(name)}`]));
    return { names, ids, found: names.length };
  }
}

class Document extends DataSource {
  schema() {
    return schema({
      description: "A document of a server.",
      attributes: {
        url: attribute.string().required().description("The address."),
        status: attribute.number().computed().description("The status of the response."),
        kind: attribute.string().computed().description("The content type."),
        body: attribute.string().computed().description("The text."),
      },
    });
  }

  read({ url }) {
    try {
      const response = http.request("GET", url, { headers: { accept: "text/plain" } });
      return { url, status: response.status, kind: response.headers["content-type"], body: response.text() };
    } catch (error) {
      if (!(error instanceof http.HttpError)) throw error;
      throw new ProviderError("The document could not be read", error.reason, ["url"]);
    }
  }
}

class Ticket extends DataSource {
  schema() {
    return schema({
      description: "The next number of a queue, which begins in each run.",
      attributes: {
        queue: attribute.string().required().description("The name of the queue."),
        number: attribute.number().computed().description("The number."),
      },
    });
  }

  read({ queue }) {
    new shared.RateLimiter("tickets", { events: 1000, burst: 100 }).wait();
    const key = `queue/${queue}`;
    return shared.withLock(key, () => {
      const last = shared.get(key);
      const number = (last?.value ?? 0) + 1;
      const expected = last === null ? shared.absent : shared.version(last.version);
      if (shared.put(key, number, expected) === null) throw new ProviderError("The queue has changed", queue);
      return { queue, number };
    });
  }
}

export const inventory = new Provider({
  schema: schema({
    description: "A provider that needs no service.",
    attributes: { prefix: attribute.string().optional().description("The prefix of each ID; by default `item`.") },
  }),
  configure: (config) => ({ prefix: config?.prefix ?? "item" }),
  resources: { inventory_item: new Item() },
  dataSources: {
    inventory_lookup: new Lookup(),
    inventory_document: new Document(),
    inventory_ticket: new Ticket(),
  },
  functions: {
    slug: new ProviderFunction({
      summary: "Converts a name to a part of an ID.",
      parameters: [{ name: "text", type: types.string, description: "The name." }],
      returns: types.string,
      call(text) {
        const result = slug(text);
        if (result === "") throw new ArgumentError(0, "the text contains no letter and no digit");
        return result;
      },
    }),
    total: new ProviderFunction({
      summary: "Adds integers of any size.",
      variadic: { name: "numbers", type: types.number, description: "The integers." },
      returns: types.number,
      call: (...numbers) => numbers.reduce((sum, number) => sum + BigInt(textOfNumber(number)), 0n),
    }),
    describe: new ProviderFunction({
      summary: "Describes a value of any type.",
      parameters: [{ name: "value", type: types.dynamic, description: "The value." }],
      returns: types.string,
      call: (value) => (value instanceof DynamicValue ? typeToJson(value.type) : "null"),
    }),
  },
});
