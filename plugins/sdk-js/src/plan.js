// Plans a resource from the proposed new state. The steps are: set defaults, and write-only values
// to null; if the result differs from the prior state, set every computed attribute that is null in
// the configuration to unknown; restore stable values, and find the attributes that require a
// replacement.

import { DynamicValue, equal } from "./value.js";
import { isUnknown, unknown } from "./unknown.js";

/** Returns {planned, requiresReplace} of a create (`prior` is null) or an update. */
export function planChange(schema, config, prior, proposed) {
  const requiresReplace = [];
  let planned = walk(schema, { config, prior }, proposed, [], {
    attribute(one, sides, value) {
      if (one.isWriteOnly) return null;
      return one.defaultValue !== undefined && sides.config === null ? one.defaultValue : value;
    },
  });
  if (!equal(planned, prior)) {
    planned = walk(schema, { config, prior }, planned, [], {
      attribute: (one, sides, value) =>
        one.isComputed && one.defaultValue === undefined && sides.config === null ? unknown : value,
    });
  }
  planned = walk(schema, { config, prior }, planned, [], {
    attribute(one, sides, value, path) {
      const kept = one.isStable && isUnknown(value) && sides.prior !== null && sides.config === null ? sides.prior : value;
      if (one.isForceNew && prior !== null && !equal(sides.prior, kept)) requiresReplace.push(path);
      return kept;
    },
    block(one, sides, value, path) {
      if (one.forceNew && prior !== null && !equal(sides.prior, value)) requiresReplace.push(path);
    },
  });
  return { planned, requiresReplace };
}

function walk(schema, sides, planned, path, visit) {
  if (planned === null || isUnknown(planned)) return planned;
  const parts = walkAttributes(schema.attributes, sides, planned, path, visit);
  for (const [name, inner] of Object.entries(schema.blocks)) {
    const within = beside(sides, name);
    const at = step(path, name);
    visit.block?.(inner, within, parts[name], at);
    parts[name] = each(inner.nesting, within, parts[name], at, (one, value, where) =>
      walk(inner.contents, one, value, where, visit),
    );
  }
  return parts;
}

function walkAttributes(attributes, sides, planned, path, visit) {
  if (planned === null || isUnknown(planned)) return planned;
  const parts = Object.assign(Object.create(null), planned);
  for (const [name, one] of Object.entries(attributes)) {
    const within = beside(sides, name);
    const at = step(path, name);
    const value = visit.attribute(one, within, parts[name], at);
    parts[name] =
      one.nested === null
        ? value
        : each(one.nested.nesting, within, value, at, (inner, element, where) =>
            walkAttributes(one.nested.attributes, inner, element, where, visit),
          );
  }
  return parts;
}

/** A path ends at the outermost set, and has this property. */
const END = Symbol("end of path");

function step(path, next) {
  return path[END] ? path : [...path, next];
}

function beside({ config, prior }, name) {
  return { config: member(config, name), prior: member(prior, name) };
}

function member(value, name) {
  if (value instanceof DynamicValue) return member(value.value, name);
  if (typeof value !== "object" || value === null || isUnknown(value)) return null;
  return Object.hasOwn(value, name) ? value[name] : null;
}

function each(nesting, sides, planned, path, change) {
  if (planned === null || isUnknown(planned)) return planned;
  if (planned instanceof DynamicValue) {
    return new DynamicValue(planned.type, each(nesting, sides, planned.value, path, change));
  }
  switch (nesting) {
    case "single":
    case "group":
      return change(sides, planned, path);
    case "map": {
      const map = Object.create(null);
      for (const key of Object.keys(planned)) map[key] = change(beside(sides, key), planned[key], step(path, { key }));
      return map;
    }
    case "list":
      return planned.map((element, index) => change(beside(sides, index), element, step(path, index)));
    default: {
      const end = Object.assign([...path], { [END]: true });
      const configs = unpaired(sides.config);
      const priors = unpaired(sides.prior);
      return planned.map((element) => {
        const config = take(configs, (one) => results(element, one));
        const prior = config === null ? null : take(priors, (one) => results(one, config));
        return change({ config, prior }, element, end);
      });
    }
  }
}

function unpaired(set) {
  return Array.isArray(set) ? [...set] : [];
}

function take(values, matches) {
  const index = values.findIndex(matches);
  return index < 0 ? null : values.splice(index, 1)[0];
}

/** Whether an object can result from a configuration: all values that the configuration sets are equal. */
function results(object, config) {
  if (config === null) return true;
  if (isPlain(object) && isPlain(config)) {
    return Object.keys(config).every((name) => Object.hasOwn(object, name) && results(object[name], config[name]));
  }
  return equal(object, config);
}

function isPlain(value) {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;
}
