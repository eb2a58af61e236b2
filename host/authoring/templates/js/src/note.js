// `@@name@@_note`: a resource with a computed attribute.
//
// Replace the bodies of `create`, `update` and `import` with requests to your service (`http` of
// wardian-sdk), and add `read` and `delete`.

import { Resource, attribute, schema } from "wardian-sdk";

const MAX_TITLE_LENGTH = 80;

/** Returns the requirement that a title does not meet; `null` if it is valid. */
export function validateTitle(title) {
  const length = [...title].length;
  return length < 1 || length > MAX_TITLE_LENGTH ? "must have 1 to 80 characters" : null;
}

const noteId = (title) => `note-${title}`;

export class Note extends Resource {
  schema() {
    return schema({
      description: "A note.",
      attributes: {
        title: attribute
          .string()
          .required()
          .forceNew()
          .validate(validateTitle)
          .description("The title. Changing it replaces the note."),
        text: attribute.string().default("").description("The text. Empty by default."),
        id: attribute.string().computed().stable().description("The ID, which is derived from the title."),
      },
    });
  }

  create(planned, _context) {
    return { ...planned, id: noteId(planned.title) };
  }

  update(_prior, planned, _context) {
    return planned;
  }

  import(title, _context) {
    return { title, text: "", id: noteId(title) };
  }
}
