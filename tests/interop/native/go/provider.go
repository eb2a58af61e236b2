package main

import (
	"context"
	"reflect"

	"github.com/vmihailenco/msgpack/v5"

	"interop/tfplugin"
)

// object contains the values of an object's attributes.
type object map[string]interface{}

type attribute struct {
	kind     string
	computed bool
	optional bool
}

// A resourceType's objects are created and deleted, but never changed in place.
type resourceType struct {
	attributes map[string]attribute
	// create returns the values of the computed attributes.
	create func(object) (object, error)
	// read returns nil if the object no longer exists.
	read   func(object) (object, error)
	delete func(object) error
}

type provider struct {
	tfplugin.UnimplementedProviderServer
	types map[string]resourceType
}

// unknown is the MessagePack encoding of an unknown value.
var unknown = msgpack.RawMessage{0xd4, 0, 0}

func (p *provider) GetProviderSchema(context.Context, *tfplugin.GetProviderSchema_Request) (*tfplugin.GetProviderSchema_Response, error) {
	schemas := map[string]*tfplugin.Schema{}
	for name, kind := range p.types {
		block := &tfplugin.Schema_Block{}
		for name, attribute := range kind.attributes {
			block.Attributes = append(block.Attributes, &tfplugin.Schema_Attribute{
				Name:     name,
				Type:     []byte(attribute.kind),
				Computed: attribute.computed,
				Optional: attribute.optional,
				Required: !attribute.computed && !attribute.optional,
			})
		}
		schemas[name] = &tfplugin.Schema{Block: block}
	}
	empty := &tfplugin.Schema{Block: &tfplugin.Schema_Block{}}
	return &tfplugin.GetProviderSchema_Response{Provider: empty, ResourceSchemas: schemas}, nil
}

func (p *provider) ValidateProviderConfig(_ context.Context, request *tfplugin.ValidateProviderConfig_Request) (*tfplugin.ValidateProviderConfig_Response, error) {
	return &tfplugin.ValidateProviderConfig_Response{PreparedConfig: request.Config}, nil
}

func (p *provider) ConfigureProvider(context.Context, *tfplugin.ConfigureProvider_Request) (*tfplugin.ConfigureProvider_Response, error) {
	return &tfplugin.ConfigureProvider_Response{}, nil
}

func (p *provider) StopProvider(context.Context, *tfplugin.StopProvider_Request) (*tfplugin.StopProvider_Response, error) {
	return &tfplugin.StopProvider_Response{}, nil
}

func (p *provider) ValidateResourceConfig(context.Context, *tfplugin.ValidateResourceConfig_Request) (*tfplugin.ValidateResourceConfig_Response, error) {
	return &tfplugin.ValidateResourceConfig_Response{}, nil
}

func (p *provider) UpgradeResourceState(_ context.Context, request *tfplugin.UpgradeResourceState_Request) (*tfplugin.UpgradeResourceState_Response, error) {
	state := &tfplugin.DynamicValue{Json: request.RawState.Json}
	return &tfplugin.UpgradeResourceState_Response{UpgradedState: state}, nil
}

func (p *provider) PlanResourceChange(_ context.Context, request *tfplugin.PlanResourceChange_Request) (*tfplugin.PlanResourceChange_Response, error) {
	prior, err := decode(request.PriorState)
	if err != nil {
		return nil, err
	}
	planned, err := decode(request.ProposedNewState)
	if err != nil {
		return nil, err
	}
	response := &tfplugin.PlanResourceChange_Response{PlannedState: request.ProposedNewState}
	if planned == nil {
		return response, nil
	}
	attributes := p.types[request.TypeName].attributes
	for name := range attributes {
		if prior != nil && !reflect.DeepEqual(prior[name], planned[name]) {
			response.RequiresReplace = append(response.RequiresReplace, path(name))
		}
	}
	if prior == nil || response.RequiresReplace != nil {
		for name, attribute := range attributes {
			if attribute.computed {
				planned[name] = unknown
			}
		}
		response.PlannedState, err = encode(planned)
	}
	return response, err
}

func (p *provider) ApplyResourceChange(_ context.Context, request *tfplugin.ApplyResourceChange_Request) (*tfplugin.ApplyResourceChange_Response, error) {
	kind := p.types[request.TypeName]
	response := &tfplugin.ApplyResourceChange_Response{NewState: request.PlannedState}
	prior, err := decode(request.PriorState)
	if err != nil {
		return nil, err
	}
	planned, err := decode(request.PlannedState)
	if err != nil {
		return nil, err
	}
	if planned == nil {
		err = kind.delete(prior)
	} else {
		var created object
		created, err = kind.create(planned)
		for name, value := range created {
			planned[name] = value
		}
		if err == nil {
			response.NewState, err = encode(planned)
		}
	}
	if err != nil {
		response.NewState = request.PriorState
		response.Diagnostics = diagnostics(err)
	}
	return response, nil
}

func (p *provider) ReadResource(_ context.Context, request *tfplugin.ReadResource_Request) (*tfplugin.ReadResource_Response, error) {
	state, err := decode(request.CurrentState)
	if err == nil {
		state, err = p.types[request.TypeName].read(state)
	}
	response := &tfplugin.ReadResource_Response{NewState: request.CurrentState}
	if err == nil {
		response.NewState, err = encode(state)
	}
	if err != nil {
		response.Diagnostics = diagnostics(err)
	}
	return response, nil
}

func path(name string) *tfplugin.AttributePath {
	step := &tfplugin.AttributePath_Step{Selector: &tfplugin.AttributePath_Step_AttributeName{AttributeName: name}}
	return &tfplugin.AttributePath{Steps: []*tfplugin.AttributePath_Step{step}}
}

func diagnostics(err error) []*tfplugin.Diagnostic {
	return []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: err.Error()}}
}

func decode(value *tfplugin.DynamicValue) (object, error) {
	var decoded object
	err := msgpack.Unmarshal(value.GetMsgpack(), &decoded)
	return decoded, err
}

func encode(value object) (*tfplugin.DynamicValue, error) {
	encoded, err := msgpack.Marshal(value)
	return &tfplugin.DynamicValue{Msgpack: encoded}, err
}

func init() {
	// The values of computed attributes may be unknown.
	msgpack.RegisterExtDecoder(0, unknownValue{}, func(*msgpack.Decoder, reflect.Value, int) error { return nil })
}

type unknownValue struct{}
