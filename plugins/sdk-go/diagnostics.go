package sdk

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"wardian.dev/sdk-go/bindings"
)

// Severity is whether a diagnostic is an error or a warning.
type Severity uint8

const (
	SeverityError Severity = iota
	SeverityWarning
)

// Key is a key of a map in a path.
type Key string

// Path is a part of a configuration: names of attributes as string, indexes as int, and keys of maps
// as Key.
type Path []any

// String returns the path as in an expression: disk[0].size.
func (p Path) String() string {
	var text strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case string:
			text.WriteString("." + step)
		case Key:
			fmt.Fprintf(&text, "[%q]", string(step))
		default:
			fmt.Fprintf(&text, "[%v]", step)
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// Diagnostic is an error or a warning for the user. The summary is one line.
type Diagnostic struct {
	Severity Severity
	Summary  string
	Detail   string
	Path     Path
}

// Error returns the diagnostic as text. A Diagnostic is an error that the user sees as it is.
func (d *Diagnostic) Error() string {
	if d.Detail == "" {
		return d.Summary
	}
	return d.Summary + ": " + d.Detail
}

// Errorf creates an error for the user.
func Errorf(summary, format string, arguments ...any) *Diagnostic {
	return &Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, arguments...)}
}

// At returns the diagnostic with a path.
func (d *Diagnostic) At(steps ...any) *Diagnostic {
	d.Path = steps
	return d
}

// diagnosticsOf returns the diagnostics of an error, which may be joined from several errors.
func diagnosticsOf(err error, operation string) []Diagnostic {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		var all []Diagnostic
		for _, one := range joined.Unwrap() {
			all = append(all, diagnosticsOf(one, operation)...)
		}
		return all
	}
	var diagnostic *Diagnostic
	if errors.As(err, &diagnostic) {
		return []Diagnostic{*diagnostic}
	}
	return []Diagnostic{{Summary: "Error while " + operation, Detail: err.Error()}}
}

// panicDiagnostic returns the diagnostic of a panic, with its stack.
func panicDiagnostic(cause any, operation string) Diagnostic {
	return Diagnostic{
		Summary: "Unexpected exception while " + operation,
		Detail: fmt.Sprintf("The provider panicked, which is an error in the provider:\n\n%v\n\n%s",
			cause, debug.Stack()),
	}
}

func diagnosticRecords(all []Diagnostic) []bindings.Diagnostic {
	var records []bindings.Diagnostic
	for _, one := range all {
		record := bindings.Diagnostic{
			Severity: bindings.Severity(one.Severity), Summary: one.Summary, Detail: one.Detail,
		}
		if one.Path != nil {
			path := pathRecord(one.Path)
			record.Attribute = &path
		}
		records = append(records, record)
	}
	return records
}

func pathRecord(path Path) []bindings.PathStep {
	var steps []bindings.PathStep
	for _, step := range path {
		switch step := step.(type) {
		case string:
			steps = append(steps, bindings.PathStep{Tag: bindings.PathStepAttributeName, AttributeName: step})
		case Key:
			steps = append(steps, bindings.PathStep{Tag: bindings.PathStepElementKeyString, ElementKeyString: string(step)})
		case int:
			steps = append(steps, bindings.PathStep{Tag: bindings.PathStepElementKeyInt, ElementKeyInt: int64(step)})
		}
	}
	return steps
}
