/** An error or a warning for the user. */
export class Diagnostic {
  /**
   * @param severity "error" or "warning"
   * @param summary one line
   * @param detail the explanation
   * @param path the part of the configuration, for example ["disk", 0, "size"]: names of attributes,
   * indexes, and keys of maps as {key: "..."}
   */
  constructor(severity, summary, detail = "", path = null) {
    this.severity = severity;
    this.summary = summary;
    this.detail = detail;
    this.path = path;
  }

  static error(summary, detail = "", path = null) {
    return new Diagnostic("error", summary, detail, path);
  }

  static warning(summary, detail = "", path = null) {
    return new Diagnostic("warning", summary, detail, path);
  }
}

/** An exception that ends a call with diagnostics, which the user sees without a stack trace. */
export class ProviderError extends Error {
  /** @param path see Diagnostic */
  constructor(summary, detail = "", path = null) {
    super(detail === "" ? summary : `${summary}: ${detail}`);
    this.name = "ProviderError";
    this.diagnostics = [Diagnostic.error(summary, detail, path)];
  }
}

/** Returns the diagnostics of an exception. The stack trace of an unexpected one is in the detail. */
export function diagnosticsOf(error, operation) {
  if (error instanceof ProviderError) return error.diagnostics;
  if (!(error instanceof Error)) return [Diagnostic.error(`Unexpected exception while ${operation}`, String(error))];
  const stack = String(error.stack ?? "").trimEnd();
  // Some engines repeat the message in the stack, others do not.
  const trace = stack.includes(error.message) ? stack : `${error.name}: ${error.message}\n${stack}`;
  return [
    Diagnostic.error(
      `Unexpected exception while ${operation}`,
      `The provider did not handle this exception, which is an error in the provider:\n\n${trace}`,
    ),
  ];
}

export function diagnosticRecord({ severity, summary, detail, path }) {
  return { severity, summary, detail, attribute: path === null ? null : pathRecord(path) };
}

export function pathRecord(path) {
  return path.map((step) => {
    if (typeof step === "string") return { tag: "attribute-name", val: step };
    if (typeof step === "object" && step !== null) return { tag: "element-key-string", val: step.key };
    return { tag: "element-key-int", val: Number(step) };
  });
}
