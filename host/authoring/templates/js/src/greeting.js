// `@@name@@_greeting`: a data source.

import { DataSource, attribute, schema } from "wardian-sdk";

/** Returns the requirement that a name does not meet; `null` if it is valid. */
export function validateName(name) {
  return name === "" ? "must not be empty" : null;
}

export class Greeting extends DataSource {
  schema() {
    return schema({
      description: "A greeting.",
      attributes: {
        name: attribute
          .string()
          .required()
          .validate(validateName)
          .description("The name of the person to greet."),
        text: attribute.string().computed().description("The greeting."),
      },
    });
  }

  read({ name }, _context) {
    return { name, text: `Hello, ${name}!` };
  }
}
