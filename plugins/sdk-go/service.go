package sdk

import (
	"fmt"
	"maps"
	"slices"

	"wardian.dev/sdk-go/bindings"
)

// Recorder records a state durably during an apply.
type Recorder func(state, private []byte) error

// Service converts the records of the WIT interface to calls of a provider's parts, and results to
// records. It implements the interfaces that a component exports.
type Service struct {
	provider    Provider
	recorder    Recorder
	configType  Type
	client      any
	resources   map[string]typedPart[Resource]
	dataSources map[string]typedPart[DataSource]
	ephemeral   map[string]typedPart[EphemeralResource]
}

// typedPart is a part of a provider, with its schema and type.
type typedPart[P any] struct {
	part   P
	schema Schema
	of     Type
}

func typedParts[P interface{ Schema() Schema }](parts map[string]P) map[string]typedPart[P] {
	typed := make(map[string]typedPart[P], len(parts))
	for name, part := range parts {
		schema := part.Schema()
		typed[name] = typedPart[P]{part, schema, schema.Type()}
	}
	return typed
}

// NewService creates the service of a provider. The recorder may be nil.
func NewService(provider Provider, recorder Recorder) *Service {
	return &Service{
		provider: provider, recorder: recorder, configType: provider.Schema.Type(),
		resources: typedParts(provider.Resources), dataSources: typedParts(provider.DataSources),
		ephemeral: typedParts(provider.EphemeralResources),
	}
}

// report collects the diagnostics of a call.
type report struct {
	operation   string
	diagnostics []Diagnostic
}

// run runs a part of a call, and reports its error or panic.
func (r *report) run(part func() error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.diagnostics = append(r.diagnostics, panicDiagnostic(cause, r.operation))
		}
	}()
	if err := part(); err != nil {
		r.diagnostics = append(r.diagnostics, diagnosticsOf(err, r.operation)...)
	}
}

// collect takes the diagnostics of a context.
func (r *report) collect(context *Context) {
	r.diagnostics = append(r.diagnostics, context.diagnostics...)
}

func (r *report) records() []bindings.Diagnostic { return diagnosticRecords(r.diagnostics) }

func find[P any](parts map[string]typedPart[P], name string) (typedPart[P], error) {
	found, isFound := parts[name]
	if !isFound {
		return found, Errorf("Unknown type", "The provider has no type %s.", name)
	}
	return found, nil
}

func decodeObject(content []byte, of Type) (Object, error) {
	value, err := Decode(content, of)
	object, _ := value.(Object)
	return object, err
}

// call calls a part with a configuration, and encodes its result.
func call[P any](
	s *Service, report *report, parts map[string]typedPart[P], name string, content []byte,
	method func(part P, config Object, context *Context) (Object, error),
) []byte {
	var result []byte
	report.run(func() error {
		typed, err := find(parts, name)
		if err != nil {
			return err
		}
		config, err := decodeObject(content, typed.of)
		if err != nil {
			return err
		}
		context := &Context{Client: s.client, Config: config}
		defer report.collect(context)
		object, err := method(typed.part, config, context)
		if err != nil {
			return err
		}
		result, err = Encode(object, typed.of)
		return err
	})
	return result
}

// ---- metadata and schemas

func (s *Service) GetMetadata() bindings.Metadata {
	return bindings.Metadata{
		ServerCapabilities: serverCapabilities(),
		Resources:          slices.Sorted(maps.Keys(s.resources)),
		DataSources:        slices.Sorted(maps.Keys(s.dataSources)),
		EphemeralResources: slices.Sorted(maps.Keys(s.ephemeral)),
		Functions:          slices.Sorted(maps.Keys(s.provider.Functions)),
	}
}

func (s *Service) GetProviderSchema() bindings.ProviderSchema {
	return bindings.ProviderSchema{
		ServerCapabilities: serverCapabilities(),
		Provider:           schemaRecord(s.provider.Schema),
		Resources:          schemaRecords(s.resources),
		DataSources:        schemaRecords(s.dataSources),
		EphemeralResources: schemaRecords(s.ephemeral),
		Functions:          s.GetFunctions(),
	}
}

func schemaRecords[P any](parts map[string]typedPart[P]) []bindings.Pair[string, bindings.Schema] {
	var records []bindings.Pair[string, bindings.Schema]
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		records = append(records, bindings.Pair[string, bindings.Schema]{First: name, Second: schemaRecord(parts[name].schema)})
	}
	return records
}

func (s *Service) GetResourceIdentitySchemas() bindings.IdentitySchemas {
	return bindings.IdentitySchemas{}
}

// ---- provider configuration

func (s *Service) ValidateProviderConfig(config []byte) []bindings.Diagnostic {
	report := report{operation: "validating the provider's configuration"}
	report.run(func() error {
		object, err := decodeObject(config, s.configType)
		if err != nil || object == nil {
			return err
		}
		report.diagnostics = checkConfig(s.provider.Schema, object, true)
		if s.provider.Validate != nil {
			return s.provider.Validate(object)
		}
		return nil
	})
	return report.records()
}

func (s *Service) ConfigureProvider(request bindings.ConfigureProviderRequest) []bindings.Diagnostic {
	report := report{operation: "configuring the provider"}
	report.run(func() error {
		config, err := decodeObject(request.Config, s.configType)
		if err != nil || s.provider.Configure == nil {
			return err
		}
		context := &Context{Config: config}
		defer report.collect(context)
		s.client, err = s.provider.Configure(config, context)
		return err
	})
	return report.records()
}

// StopProvider does nothing: calls in flight end by themselves.
func (s *Service) StopProvider() *string { return nil }

// ---- data sources

func (s *Service) ValidateDataResourceConfig(request bindings.ValidateConfigRequest) []bindings.Diagnostic {
	return validate(s.dataSources, request)
}

func (s *Service) ReadDataSource(request bindings.ReadDataSourceRequest) bindings.ReadDataSourceResponse {
	report := report{operation: "reading data." + request.TypeName}
	state := call(s, &report, s.dataSources, request.TypeName, request.Config, DataSource.Read)
	return bindings.ReadDataSourceResponse{State: state, Diagnostics: report.records()}
}

// ---- ephemeral resources

func (s *Service) ValidateEphemeralResourceConfig(request bindings.ValidateConfigRequest) []bindings.Diagnostic {
	return validate(s.ephemeral, request)
}

func (s *Service) OpenEphemeralResource(request bindings.OpenEphemeralResourceRequest) bindings.OpenEphemeralResourceResponse {
	report := report{operation: "opening " + request.TypeName}
	var response bindings.OpenEphemeralResourceResponse
	open := func(part EphemeralResource, config Object, context *Context) (Object, error) {
		result, err := part.Open(config, context)
		if err == nil {
			response.Private, response.RenewAt = context.Private, timestamp(context)
		}
		return result, err
	}
	response.Result = call(s, &report, s.ephemeral, request.TypeName, request.Config, open)
	response.Diagnostics = report.records()
	return response
}

func (s *Service) RenewEphemeralResource(typeName string, private []byte) bindings.RenewEphemeralResourceResponse {
	report := report{operation: "renewing " + typeName}
	response := bindings.RenewEphemeralResourceResponse{Private: private}
	report.run(func() error {
		typed, err := find(s.ephemeral, typeName)
		renewer, canRenew := typed.part.(EphemeralRenewer)
		if err != nil || !canRenew {
			return err
		}
		context := &Context{Client: s.client, Private: private}
		defer report.collect(context)
		err = renewer.Renew(context)
		response.Private, response.RenewAt = context.Private, timestamp(context)
		return err
	})
	response.Diagnostics = report.records()
	return response
}

func (s *Service) CloseEphemeralResource(typeName string, private []byte) []bindings.Diagnostic {
	report := report{operation: "closing " + typeName}
	report.run(func() error {
		typed, err := find(s.ephemeral, typeName)
		closer, canClose := typed.part.(EphemeralCloser)
		if err != nil || !canClose {
			return err
		}
		context := &Context{Client: s.client, Private: private}
		defer report.collect(context)
		return closer.Close(context)
	})
	return report.records()
}

func timestamp(context *Context) *bindings.Timestamp {
	if context.RenewAt.IsZero() {
		return nil
	}
	return &bindings.Timestamp{Seconds: context.RenewAt.Unix(), Nanoseconds: uint32(context.RenewAt.Nanosecond())}
}

// ---- functions

func (s *Service) GetFunctions() []bindings.Pair[string, bindings.Function] {
	return functionRecords(s.provider.Functions)
}

func (s *Service) CallFunction(name string, arguments [][]byte) ([]byte, *bindings.FunctionError) {
	report := report{operation: "calling the function " + name}
	var result []byte
	var failure *bindings.FunctionError
	report.run(func() error {
		function, isFound := s.provider.Functions[name]
		if !isFound {
			return Errorf("Unknown function", "The provider has no function %s.", name)
		}
		values := make([]Value, len(arguments))
		for index, argument := range arguments {
			parameter := function.Variadic
			if index < len(function.Parameters) {
				parameter = &function.Parameters[index]
			}
			if parameter == nil {
				return Errorf("Too many arguments", "for the function %s.", name)
			}
			value, err := Decode(argument, parameter.Type)
			if err != nil {
				return err
			}
			values[index] = value
		}
		value, err := function.Call(values)
		if argument, isArgument := err.(*ArgumentError); isArgument {
			failure = &bindings.FunctionError{Text: argument.Message, FunctionArgument: &argument.Argument}
			return nil
		}
		if err != nil {
			return err
		}
		result, err = Encode(value, function.Returns)
		return err
	})
	if len(report.diagnostics) > 0 {
		failure = &bindings.FunctionError{Text: report.diagnostics[0].Error()}
	}
	return result, failure
}

func validate[P any](parts map[string]typedPart[P], request bindings.ValidateConfigRequest) []bindings.Diagnostic {
	report := report{operation: "validating " + request.TypeName}
	report.run(func() error {
		typed, err := find(parts, request.TypeName)
		if err != nil {
			return err
		}
		config, err := decodeObject(request.Config, typed.of)
		if err != nil || config == nil {
			return err
		}
		report.diagnostics = checkConfig(typed.schema, config, request.ClientCapabilities.WriteOnlyAttributesAllowed)
		validator, canValidate := any(typed.part).(ResourceValidator)
		if !canValidate {
			return nil
		}
		context := &Context{Config: config}
		defer report.collect(context)
		return validator.Validate(config, context)
	})
	return report.records()
}

func stateError(format string, arguments ...any) error {
	return Errorf("Unable to read the stored state", format, arguments...)
}

func unsupported(summary, typeName string) []bindings.Diagnostic {
	return diagnosticRecords([]Diagnostic{{Summary: summary, Detail: fmt.Sprintf("for %s", typeName)}})
}
