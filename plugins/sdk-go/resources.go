package sdk

import (
	"wardian.dev/sdk-go/bindings"
)

func (s *Service) ValidateResourceConfig(request bindings.ValidateConfigRequest) []bindings.Diagnostic {
	return validate(s.resources, request)
}

func (s *Service) UpgradeResourceState(request bindings.UpgradeResourceStateRequest) bindings.UpgradeResourceStateResponse {
	report := report{operation: "upgrading the state of " + request.TypeName}
	var response bindings.UpgradeResourceStateResponse
	report.run(func() error {
		typed, err := find(s.resources, request.TypeName)
		if err != nil {
			return err
		}
		if request.RawState.Tag != bindings.RawStateJSON {
			return stateError("It is in the format of Terraform 0.11 and older. Refresh it with Terraform 0.12 first.")
		}
		state, err := parseState(request.RawState.JSON)
		if err != nil {
			return stateError("%v", err)
		}
		if request.Version != typed.schema.Version {
			upgrader, canUpgrade := typed.part.(ResourceUpgrader)
			if !canUpgrade {
				return Errorf("Unable to upgrade the stored state",
					"The state of %s was stored with schema version %d. This provider has version %d and cannot "+
						"upgrade from the stored version.", request.TypeName, request.Version, typed.schema.Version)
			}
			if state, err = upgrader.Upgrade(request.Version, state); err != nil {
				return err
			}
		}
		value, err := fromJSON(state, typed.of, "")
		if err != nil {
			return stateError("%v", err)
		}
		response.UpgradedState, err = typed.encode(value)
		return err
	})
	response.Diagnostics = report.records()
	return response
}

func (s *Service) UpgradeResourceIdentity(request bindings.UpgradeResourceIdentityRequest) bindings.UpgradeResourceIdentityResponse {
	return bindings.UpgradeResourceIdentityResponse{Diagnostics: unsupported("Resource without identity", request.TypeName)}
}

func (s *Service) ReadResource(request bindings.ReadResourceRequest) bindings.ReadResourceResponse {
	report := report{operation: "reading " + request.TypeName}
	response := bindings.ReadResourceResponse{
		NewState: request.CurrentState, Private: request.Private, NewIdentity: request.CurrentIdentity,
	}
	report.run(func() error {
		typed, err := find(s.resources, request.TypeName)
		if err != nil {
			return err
		}
		state, err := decodeObject(request.CurrentState, typed.of)
		if err != nil || state == nil {
			return err
		}
		context := &Context{Client: s.client, Private: request.Private}
		defer report.collect(context)
		if reader, canRead := typed.part.(ResourceReader); canRead {
			if state, err = reader.Read(state, context); err != nil {
				return err
			}
		}
		response.Private = context.Private
		response.NewState, err = typed.encode(state)
		return err
	})
	response.Diagnostics = report.records()
	return response
}

func (s *Service) PlanResourceChange(request bindings.PlanResourceChangeRequest) bindings.PlanResourceChangeResponse {
	report := report{operation: "planning " + request.TypeName}
	response := bindings.PlanResourceChangeResponse{
		PlannedState: request.ProposedNewState, PlannedPrivate: request.PriorPrivate,
		PlannedIdentity: request.PriorIdentity,
	}
	report.run(func() error {
		typed, err := find(s.resources, request.TypeName)
		if err != nil {
			return err
		}
		values, err := typed.decode(request.Config, request.PriorState, request.ProposedNewState)
		if err != nil || values[2] == nil {
			return err
		}
		config, prior := values[0], values[1]
		change, requiresReplace := planChange(typed.schema, nullable(config), nullable(prior), values[2])
		planned, _ := change.(Object)
		context := &Context{Client: s.client, Config: config, Private: request.PriorPrivate}
		defer report.collect(context)
		if planner, canPlan := typed.part.(ResourcePlanner); canPlan {
			if planned, err = planner.Plan(prior, planned, context); err != nil {
				return err
			}
		}
		for _, path := range append(requiresReplace, context.RequiresReplace...) {
			response.RequiresReplace = append(response.RequiresReplace, pathRecord(path))
		}
		response.PlannedPrivate = context.Private
		response.PlannedState, err = Encode(nullable(planned), typed.of)
		return err
	})
	response.Diagnostics = report.records()
	return response
}

func (s *Service) ApplyResourceChange(request bindings.ApplyResourceChangeRequest) bindings.ApplyResourceChangeResponse {
	report := report{operation: "applying " + request.TypeName}
	response := bindings.ApplyResourceChangeResponse{
		NewState: request.PriorState, Private: request.PlannedPrivate, NewIdentity: request.PlannedIdentity,
	}
	context := &Context{Client: s.client, Private: request.PlannedPrivate}
	typed, err := find(s.resources, request.TypeName)
	report.run(func() error {
		if err != nil {
			return err
		}
		values, err := typed.decode(request.Config, request.PriorState, request.PlannedState)
		if err != nil {
			return err
		}
		context.Config = values[0]
		context.record = func(state Object, private []byte) error {
			known, _ := withoutUnknown(state, "")
			content, err := typed.encode(known)
			if err != nil || s.recorder == nil {
				return err
			}
			return s.recorder(content, private)
		}
		state, err := apply(typed.part, values[1], values[2], context, &report)
		if err != nil {
			return err
		}
		known, path := withoutUnknown(nullable(state), "")
		if response.NewState, err = typed.encode(known); err != nil {
			return err
		}
		if path != "" {
			return Errorf("Provider returned an unknown value after apply",
				"%s: %s is still unknown. This is an error in the provider.", request.TypeName, path)
		}
		if values[2] != nil && known == nil {
			return Errorf("Provider returned no state", "After %s, there is none.", report.operation)
		}
		return nil
	})
	if len(report.diagnostics) > 0 && context.partial != nil {
		report.run(func() error {
			known, _ := withoutUnknown(context.partial, "")
			content, err := typed.encode(known)
			if err == nil {
				response.NewState = content
			}
			return err
		})
	}
	report.collect(context)
	response.Private = context.Private
	response.Diagnostics = report.records()
	return response
}

// apply calls the method for a change. A nil planned state is a delete.
func apply(part Resource, prior, planned Object, context *Context, report *report) (Object, error) {
	typeName := report.operation[len("applying "):]
	switch {
	case planned == nil:
		report.operation = "deleting " + typeName
		if deleter, canDelete := part.(ResourceDeleter); canDelete && prior != nil {
			return nil, deleter.Delete(prior, context)
		}
		return nil, nil
	case prior == nil:
		report.operation = "creating " + typeName
		return part.Create(planned, context)
	}
	report.operation = "updating " + typeName
	updater, canUpdate := part.(ResourceUpdater)
	if !canUpdate {
		return nil, Errorf("Update not supported", "%s has no Update, so each attribute must be ForceNew.", typeName)
	}
	return updater.Update(prior, planned, context)
}

func (s *Service) ImportResourceState(request bindings.ImportResourceStateRequest) bindings.ImportResourceStateResponse {
	report := report{operation: "importing " + request.TypeName}
	var response bindings.ImportResourceStateResponse
	report.run(func() error {
		typed, err := find(s.resources, request.TypeName)
		if err != nil {
			return err
		}
		importer, canImport := typed.part.(ResourceImporter)
		if !canImport || request.Target.Tag != bindings.ImportTargetID {
			return Errorf("Import not supported", "%s cannot be imported in this way.", request.TypeName)
		}
		context := &Context{Client: s.client}
		defer report.collect(context)
		state, err := importer.Import(request.Target.ID, context)
		if err != nil {
			return err
		}
		content, err := typed.encode(state)
		response.ImportedResources = []bindings.ImportedResource{{
			TypeName: request.TypeName, State: content, Private: context.Private,
		}}
		return err
	})
	response.Diagnostics = report.records()
	return response
}

// decode decodes objects of the part's type.
func (t typedPart[P]) decode(contents ...[]byte) ([]Object, error) {
	objects := make([]Object, len(contents))
	for index, content := range contents {
		object, err := decodeObject(content, t.of)
		if err != nil {
			return nil, err
		}
		objects[index] = object
	}
	return objects, nil
}

// encode encodes a state without the values of write-only attributes.
func (t typedPart[P]) encode(state Value) ([]byte, error) {
	return Encode(withoutWriteOnly(t.schema.Attributes, t.schema.Blocks, state), t.of)
}

// nullable returns nil for an object that is nil, which is null.
func nullable(object Object) Value {
	if object == nil {
		return nil
	}
	return object
}

func withoutWriteOnly(attributes Attributes, blocks map[string]Block, value Value) Value {
	state, isObject := value.(Object)
	if !isObject || state == nil {
		return nil
	}
	copied := state.With(nil)
	for name, attribute := range attributes {
		if attribute.WriteOnly {
			copied[name] = nil
		} else if attribute.Nested != nil {
			copied[name] = inEach(attribute.Nested.Nesting, copied[name], func(one Value) Value {
				return withoutWriteOnly(attribute.Nested.Attributes, nil, one)
			})
		}
	}
	for name, block := range blocks {
		copied[name] = inEach(block.Nesting, copied[name], func(one Value) Value {
			return withoutWriteOnly(block.Contents.Attributes, block.Contents.Blocks, one)
		})
	}
	return copied
}

func inEach(nesting Nesting, value Value, change func(Value) Value) Value {
	switch value := value.(type) {
	case DynamicValue:
		return DynamicValue{value.Type, inEach(nesting, value.Value, change)}
	case []Value:
		changed := make([]Value, len(value))
		for index, one := range value {
			changed[index] = change(one)
		}
		return changed
	case Object:
		if nesting != NestedMap {
			return change(value)
		}
		changed := make(Object, len(value))
		for key, one := range value {
			changed[key] = change(one)
		}
		return changed
	}
	return value
}
