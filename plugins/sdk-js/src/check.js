// Checks a configuration against a schema: properties of attributes, numbers of blocks, validators.

import { Diagnostic } from "./diagnostics.js";
import { isNumber, textOfNumber } from "./numbers.js";
import { DynamicValue } from "./value.js";
import { isUnknown } from "./unknown.js";

/** Returns the diagnostics of a configuration, which may contain unknown values. */
export function check(schema, config, writeOnlyAllowed) {
  const diagnostics = [];
  const error = (summary, detail, path) => diagnostics.push(Diagnostic.error(summary, detail, path));

  const attributes = (all, object, path) => {
    for (const [name, one] of Object.entries(all)) {
      const value = object[name] ?? null;
      const at = [...path, name];
      if (one.isRequired && value === null) {
        error("Missing Configuration for Required Attribute", `The attribute "${name}" must be set.`, at);
      }
      if (!one.isRequired && !one.isOptional && value !== null) {
        error("Invalid Configuration for Read-Only Attribute", `Only the provider can set the attribute "${name}".`, at);
      }
      if (one.isWriteOnly && value !== null && !writeOnlyAllowed) {
        error("WriteOnly Attribute Not Allowed", `The attribute "${name}" is write-only, which needs Terraform 1.11 or later.`, at);
      }
      if (value === null || isUnknown(value)) continue;
      for (const validator of one.validators) {
        const requirement = validator(value);
        if (requirement) error("Invalid Attribute Value", `Attribute ${nameOf(at)} ${requirement}, got: ${shown(value)}`, at);
      }
      if (one.nested !== null) {
        each(one.nested.nesting, value, at, (inner, where) => attributes(one.nested.attributes, inner, where));
      }
    }
  };

  const contents = ({ attributes: all, blocks }, object, path) => {
    attributes(all, object, path);
    for (const [name, inner] of Object.entries(blocks)) {
      const value = object[name] instanceof DynamicValue ? object[name].value : object[name];
      const at = [...path, name];
      if (isUnknown(value)) continue;
      const count = Array.isArray(value) ? value.length : value === null ? 0 : 1;
      if (count < inner.minimum) error("Insufficient Blocks", `At least ${inner.minimum} "${name}" block(s) are required.`, at);
      if (inner.maximum > 0 && count > inner.maximum) {
        error("Too Many Blocks", `At most ${inner.maximum} "${name}" block(s) are allowed.`, at);
      }
      if (value !== null) each(inner.nesting, value, at, (one, where) => contents(inner.contents, one, where));
    }
  };

  if (config !== null && !isUnknown(config)) contents(schema, config, []);
  return diagnostics;
}

function nameOf(path) {
  const steps = path.map((step) => (typeof step === "string" ? `.${step}` : `[${JSON.stringify(step.key ?? step)}]`));
  return steps.join("").replace(/^\./, "");
}

function shown(value) {
  if (typeof value === "string") return JSON.stringify(value);
  return isNumber(value) ? textOfNumber(value) : String(value);
}

function each(nesting, value, path, visit) {
  const one = (inner, where) => {
    if (inner !== null && !isUnknown(inner)) visit(inner, where);
  };
  if (nesting === "single" || nesting === "group") one(value, path);
  else if (nesting === "map") for (const key of Object.keys(value)) one(value[key], [...path, { key }]);
  // The path of an element of a set is the path of the set.
  else value.forEach((inner, index) => one(inner, nesting === "set" ? path : [...path, index]));
}
