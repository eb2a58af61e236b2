package sdk

import (
	"maps"
	"slices"

	"wardian.dev/sdk-go/bindings"
)

func markdown(text string) bindings.Description {
	if text == "" {
		return bindings.Description{Kind: bindings.StringKindPlain}
	}
	return bindings.Description{Text: text, Kind: bindings.StringKindMarkdown}
}

func deprecation(message *string) bindings.Deprecation {
	switch {
	case message == nil:
		return bindings.Deprecation{Tag: bindings.DeprecationNone}
	case *message == "":
		return bindings.Deprecation{Tag: bindings.DeprecationDeprecated}
	}
	return bindings.Deprecation{Tag: bindings.DeprecationMessage, Message: *message}
}

// schemaRecord returns the record of a schema. Blocks and nested objects refer to later entries of
// two lists.
func schemaRecord(schema Schema) bindings.Schema {
	record := bindings.Schema{Version: schema.Version}
	addBlock(&record, schema)
	return record
}

func addBlock(record *bindings.Schema, schema Schema) uint32 {
	index := len(record.Blocks)
	record.Blocks = append(record.Blocks, bindings.Block{
		Description: markdown(schema.Description), Deprecation: deprecation(schema.Deprecated),
	})
	record.Blocks[index].Attributes = attributeRecords(record, schema.Attributes)
	for _, name := range slices.Sorted(maps.Keys(schema.Blocks)) {
		block := schema.Blocks[name]
		inner := addBlock(record, block.Contents)
		record.Blocks[index].BlockTypes = append(record.Blocks[index].BlockTypes, bindings.NestedBlock{
			TypeName: name, Block: inner, Nesting: blockNestings[block.Nesting],
			MinItems: block.Minimum, MaxItems: block.Maximum,
		})
	}
	return uint32(index)
}

var blockNestings = map[Nesting]bindings.BlockNesting{
	NestedSingle: bindings.BlockNestingSingle, NestedGroup: bindings.BlockNestingGroup,
	NestedList: bindings.BlockNestingList, NestedSet: bindings.BlockNestingSet, NestedMap: bindings.BlockNestingMap,
}

var objectNestings = map[Nesting]bindings.ObjectNesting{
	NestedSingle: bindings.ObjectNestingSingle, NestedList: bindings.ObjectNestingList,
	NestedSet: bindings.ObjectNestingSet, NestedMap: bindings.ObjectNestingMap,
}

func attributeRecords(record *bindings.Schema, attributes Attributes) []bindings.Attribute {
	var records []bindings.Attribute
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		one := attributes[name]
		kind := bindings.AttributeType{Tag: bindings.AttributeTypeValue}
		if one.Nested == nil {
			kind.Value = one.Type.JSON()
		} else {
			index := len(record.Objects)
			record.Objects = append(record.Objects, bindings.NestedObject{Nesting: objectNestings[one.Nested.Nesting]})
			inner := attributeRecords(record, one.Nested.Attributes)
			record.Objects[index].Attributes = inner
			kind = bindings.AttributeType{Tag: bindings.AttributeTypeNested, Nested: uint32(index)}
		}
		records = append(records, bindings.Attribute{
			Name: name, Type: kind, Description: markdown(one.Description), Required: one.Required,
			Optional: one.isOptional(), Computed: one.isComputed(), Sensitive: one.Sensitive,
			WriteOnly: one.WriteOnly, Deprecation: deprecation(one.Deprecated),
		})
	}
	return records
}

func functionRecords(functions map[string]Function) []bindings.Pair[string, bindings.Function] {
	var records []bindings.Pair[string, bindings.Function]
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		one := functions[name]
		record := bindings.Function{
			ReturnType: one.Returns.JSON(), Summary: one.Summary, Description: markdown(one.Description),
			Deprecation: deprecation(one.Deprecated),
		}
		for _, parameter := range one.Parameters {
			record.Parameters = append(record.Parameters, parameterRecord(parameter))
		}
		if one.Variadic != nil {
			variadic := parameterRecord(*one.Variadic)
			record.VariadicParameter = &variadic
		}
		records = append(records, bindings.Pair[string, bindings.Function]{First: name, Second: record})
	}
	return records
}

func parameterRecord(one Parameter) bindings.Parameter {
	return bindings.Parameter{
		Name: one.Name, Type: one.Type.JSON(), AllowNullValue: one.AllowNull, AllowUnknownValues: one.AllowUnknown,
		Description: markdown(one.Description),
	}
}

func serverCapabilities() bindings.ServerCapabilities {
	return bindings.ServerCapabilities{GetProviderSchemaOptional: true}
}
