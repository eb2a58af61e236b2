// Writes the type definitions of a world, with the representation of values in QuickJS:
//
//   wasm-tools component wit --json ../../wit > wit.json
//   node bindings/generate.js sdk-provider-plugin wit.json > bindings/world.d.ts

import { readFileSync } from "node:fs";

const [wanted, file] = process.argv.slice(2);
const document = JSON.parse(readFileSync(file, "utf8"));
const world = document.worlds.find(({ name }) => name === wanted);
if (world === undefined) throw new Error(`there is no world ${wanted}`);

const camel = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel(`-${name}`);
const comment = (docs, indent) =>
  docs?.contents ? `${indent}/** ${docs.contents.replaceAll("\n", `\n${indent} * `)} */\n` : "";
const quoted = (text) => JSON.stringify(text);

function moduleOf({ name, package: index }) {
  const [prefix, version] = document.packages[index].name.split("@");
  return `${prefix}/${name}@${version}`;
}

/** Returns the definition of a type, or its name if it has one. */
function reference(ref) {
  if (ref === null) return "undefined";
  if (typeof ref === "string") {
    if (ref === "bool") return "boolean";
    return ref === "string" || ref === "char" ? "string" : "number";
  }
  const { name } = document.types[ref];
  return name === null ? definition(ref) : pascal(name);
}

function definition(index) {
  const { kind } = document.types[index];
  const [[sort, detail]] = Object.entries(kind);
  switch (sort) {
    case "type":
    case "own":
      return reference(detail);
    case "handle":
      return reference(detail.own ?? detail.borrow);
    case "list":
      return detail === "u8" ? "Uint8Array" : `${reference(detail)}[]`;
    case "option":
      return `${reference(detail)} | null`;
    case "tuple":
      return `[${detail.types.map(reference).join(", ")}]`;
    case "enum":
      return detail.cases.map(({ name }) => quoted(name)).join(" | ");
    case "variant":
      return detail.cases
        .map(({ name, type }) => `{ tag: ${quoted(name)}${type === null ? "" : `, val: ${reference(type)}`} }`)
        .join(" | ");
    case "record": {
      const fields = detail.fields.map(
        ({ name, type, docs }) => `${comment(docs, "    ")}    ${camel(name)}: ${reference(type)};\n`,
      );
      return `{\n${fields.join("")}  }`;
    }
    default:
      throw new Error(`${sort} is not supported`);
  }
}

/** The error of a result is thrown. */
function results({ result }) {
  if (result === null || result === undefined) return ["void", ""];
  const kind = typeof result === "number" ? document.types[result].kind : {};
  if (kind.result === undefined) return [reference(result), ""];
  return [kind.result.ok === null ? "void" : reference(kind.result.ok), `Throws ${reference(kind.result.err)}.`];
}

function signature(params, returns) {
  return `(${params.map(({ name, type }) => `${camel(name)}: ${reference(type)}`).join(", ")}): ${returns}`;
}

function describe(docs, thrown) {
  return { contents: [docs?.contents, thrown].filter(Boolean).join("\n\n") };
}

function module({ interface: { id } }, isExport) {
  const one = document.interfaces[id];
  const functions = Object.values(one.functions);
  let text = `${comment(one.docs, "")}declare module ${quoted(moduleOf(one))} {\n`;
  for (const [name, index] of Object.entries(one.types)) {
    const { kind, docs } = document.types[index];
    if (typeof kind === "object" && typeof kind.type === "number" && document.types[kind.type].name !== null) {
      const source = document.interfaces[document.types[kind.type].owner.interface];
      text += `  export type ${pascal(name)} = import(${quoted(moduleOf(source))}).${pascal(document.types[kind.type].name)};\n`;
    } else if (kind === "resource") {
      text += `${comment(docs, "  ")}  export class ${pascal(name)} {\n`;
      for (const method of functions.filter((method) => method.name.startsWith(`[method]${name}.`))) {
        const [returns, thrown] = results(method);
        text += comment(describe(method.docs, thrown), "    ");
        text += `    ${camel(method.name.split(".")[1])}${signature(method.params.slice(1), returns)};\n`;
      }
      text += "    [Symbol.dispose](): void;\n  }\n";
    } else {
      text += `${comment(docs, "  ")}  export type ${pascal(name)} = ${definition(index)};\n`;
    }
  }
  const members = functions.filter(({ name }) => !name.startsWith("["));
  text += isExport ? "  export interface Exports {\n" : members.length > 0 ? "  const functions: {\n" : "";
  for (const member of members) {
    const [returns, thrown] = results(member);
    text += `${comment(describe(member.docs, thrown), "    ")}    ${camel(member.name)}${signature(member.params, returns)};\n`;
  }
  if (isExport) text += "  }\n";
  else if (members.length > 0) text += "  };\n  export default functions;\n";
  return `${text}}\n`;
}

const modules = [
  ...Object.values(world.imports).map((one) => module(one, false)),
  ...Object.values(world.exports).map((one) => module(one, true)),
];
process.stdout.write(`// Generated by bindings/generate.js from wit/. Do not edit.\n\n${modules.join("\n")}`);
