package sdk

import (
	"reflect"
	"testing"
)

var server = Schema{
	Attributes: Attributes{
		"name":    {Type: String, Required: true, ForceNew: true},
		"id":      {Type: String, Computed: true, Stable: true},
		"address": {Type: String, Computed: true},
		"disks": {Optional: true, Nested: &Nested{NestedSet, Attributes{
			"name":   {Type: String, Required: true},
			"size":   {Type: Number, Default: 8},
			"serial": {Type: String, Computed: true},
		}}},
	},
	Blocks: map[string]Block{"rule": {Nesting: NestedList, Contents: Schema{
		Attributes: Attributes{"port": {Type: Number, Required: true, ForceNew: true}},
	}}},
}

func config(name string, port int64) Object {
	return Object{
		"name": name, "id": nil, "address": nil,
		"disks": []Value{Object{"name": "x", "size": nil, "serial": nil}},
		"rule":  []Value{Object{"port": port}},
	}
}

func TestCreateSetsDefaultsAndUnknownValues(t *testing.T) {
	planned, requiresReplace := planChange(server, config("a", 1), nil, config("a", 1))
	expected := config("a", 1).With(Object{
		"id": Unknown{}, "address": Unknown{},
		"disks": []Value{Object{"name": "x", "size": int64(8), "serial": Unknown{}}},
	})
	if !Same(planned, expected) || requiresReplace != nil {
		t.Errorf("%v, %v", planned, requiresReplace)
	}
}

func TestUpdateKeepsStableValues(t *testing.T) {
	prior := config("a", 1).With(Object{
		"id": "1", "address": "b", "disks": []Value{Object{"name": "x", "size": int64(8), "serial": "s"}},
	})
	if planned, requiresReplace := planChange(server, config("a", 1), prior, prior); !Same(planned, prior) || requiresReplace != nil {
		t.Errorf("%v, %v", planned, requiresReplace)
	}
	changed := Object{"name": "b", "rule": []Value{Object{"port": int64(2)}}}
	planned, requiresReplace := planChange(server, config("b", 2), prior, prior.With(changed))
	if planned.(Object)["id"] != "1" || !IsUnknown(planned.(Object)["address"]) {
		t.Errorf("%v", planned)
	}
	if !reflect.DeepEqual(requiresReplace, []Path{{"name"}, {"rule", 0, "port"}}) {
		t.Errorf("%v", requiresReplace)
	}
}

func TestContradictorySchemasAreReported(t *testing.T) {
	for _, attribute := range []Attribute{
		{Type: String},
		{Type: String, Required: true, Computed: true},
		{Type: String, Required: true, Default: "a"},
		{Type: String, Default: "a", WriteOnly: true},
		{Type: Number, Default: "a"},
		{Optional: true, Nested: &Nested{NestedList, Attributes{"inner": {Type: String}}}},
	} {
		if err := (Schema{Attributes: Attributes{"a": attribute}}).check(""); err == nil {
			t.Errorf("%v has no contradiction", attribute)
		}
	}
	if err := server.check(""); err != nil {
		t.Error(err)
	}
}
