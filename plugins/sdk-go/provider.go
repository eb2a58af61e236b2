// Package sdk is the library for writing Wardian providers in Go.
//
// A provider is a Provider with resources, data sources, ephemeral resources and functions. The
// package main of a component exports it:
//
//	func init() { component.Export(provider) }
//	func main() {}
package sdk

import (
	"errors"
	"fmt"
	"time"
)

// Resource is a managed resource type. It may also implement ResourceValidator, ResourcePlanner,
// ResourceReader, ResourceUpdater, ResourceDeleter, ResourceImporter and ResourceUpgrader.
type Resource interface {
	Schema() Schema
	// Create creates an object. It returns the state, in which nothing is unknown.
	Create(planned Object, context *Context) (Object, error)
}

// ResourceValidator checks a configuration, which may contain unknown values.
type ResourceValidator interface {
	Validate(config Object, context *Context) error
}

// ResourcePlanner changes the plan of a create (prior is nil) or an update.
type ResourcePlanner interface {
	Plan(prior, planned Object, context *Context) (Object, error)
}

// ResourceReader reads an object. It returns nil if the object does not exist. Without it, an object
// is as in the state.
type ResourceReader interface {
	Read(state Object, context *Context) (Object, error)
}

// ResourceUpdater changes an object.
type ResourceUpdater interface {
	Update(prior, planned Object, context *Context) (Object, error)
}

// ResourceDeleter deletes an object.
type ResourceDeleter interface {
	Delete(state Object, context *Context) error
}

// ResourceImporter finds an object by its ID. A read completes the state.
type ResourceImporter interface {
	Import(id string, context *Context) (Object, error)
}

// ResourceUpgrader converts the JSON of a state that was stored with another schema version to that of
// the current version. Numbers in it are Decimal.
type ResourceUpgrader interface {
	Upgrade(version int64, state map[string]any) (map[string]any, error)
}

// DataSource is a data source. It may also implement ResourceValidator.
type DataSource interface {
	Schema() Schema
	// Read returns the configuration with the computed attributes.
	Read(config Object, context *Context) (Object, error)
}

// EphemeralResource is a resource that exists only during a run. It may also implement
// ResourceValidator, EphemeralRenewer and EphemeralCloser.
type EphemeralResource interface {
	Schema() Schema
	// Open returns the result. Context.Private is passed to Renew and Close.
	Open(config Object, context *Context) (Object, error)
}

// EphemeralRenewer renews an open resource at Context.RenewAt.
type EphemeralRenewer interface {
	Renew(context *Context) error
}

// EphemeralCloser closes a resource.
type EphemeralCloser interface {
	Close(context *Context) error
}

// Parameter is a parameter of a function.
type Parameter struct {
	Name                    string
	Type                    Type
	AllowNull, AllowUnknown bool
	Description             string
}

// Function is a function of a provider. Call is a pure function of the arguments.
type Function struct {
	Summary, Description string
	Parameters           []Parameter
	// Variadic is the parameter of all further arguments.
	Variadic   *Parameter
	Returns    Type
	Deprecated *string
	Call       func(arguments []Value) (Value, error)
}

// ArgumentError is the error of a function call that one argument caused.
type ArgumentError struct {
	Argument uint64
	Message  string
}

func (e *ArgumentError) Error() string { return e.Message }

// Provider is a provider.
type Provider struct {
	Schema Schema
	// Validate checks a configuration, which may contain unknown values.
	Validate func(config Object) error
	// Configure returns the client, which is Context.Client in other calls.
	Configure          func(config Object, context *Context) (any, error)
	Resources          map[string]Resource
	DataSources        map[string]DataSource
	EphemeralResources map[string]EphemeralResource
	Functions          map[string]Function
}

// Check returns the contradictions in the schemas of the provider. Call it in a test.
func (p Provider) Check() error {
	all := []error{named("the provider's schema", p.Schema.check(""))}
	for name, one := range p.Resources {
		all = append(all, named(name, one.Schema().check("")))
	}
	for name, one := range p.DataSources {
		all = append(all, named("data."+name, one.Schema().check("")))
	}
	for name, one := range p.EphemeralResources {
		all = append(all, named("ephemeral."+name, one.Schema().check("")))
	}
	for name, one := range p.Functions {
		if one.Call == nil {
			all = append(all, fmt.Errorf("the function %s has no Call", name))
		}
	}
	return errors.Join(all...)
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Context is the context of one call.
type Context struct {
	// Client is the result of the provider's Configure.
	Client any
	// Config is the configuration, which contains write-only values.
	Config Object
	// Private is stored with the object, and only the provider interprets it.
	Private []byte
	// RenewAt is the time by which an ephemeral resource must be renewed.
	RenewAt time.Time
	// RequiresReplace receives paths whose change requires a replacement, during Plan.
	RequiresReplace []Path

	diagnostics []Diagnostic
	partial     Object
	record      func(state Object, private []byte) error
}

// Warn reports a warning.
func (c *Context) Warn(summary, detail string, path ...any) {
	c.diagnostics = append(c.diagnostics, Diagnostic{SeverityWarning, summary, detail, path})
}

// SavePartial records the state of an object during Create or Update. It is stored if the operation
// does not return, for whatever reason.
func (c *Context) SavePartial(state Object) error {
	c.partial = state
	if c.record == nil {
		return nil
	}
	return c.record(state, c.Private)
}
