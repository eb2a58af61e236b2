// The @@name@@ provider.

import { Provider } from "wardian-sdk";

import { Greeting } from "./greeting.js";
import { Note } from "./note.js";

export const provider = new Provider({
  resources: { @@name@@_note: new Note() },
  dataSources: { @@name@@_greeting: new Greeting() },
});
