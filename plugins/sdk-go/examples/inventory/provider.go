// Command inventory is a provider. The same provider exists in Rust, JavaScript and Python.
package main

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	sdk "wardian.dev/sdk-go"
	"wardian.dev/sdk-go/http"
	"wardian.dev/sdk-go/log"
	"wardian.dev/sdk-go/run"
	"wardian.dev/sdk-go/shared"
)

// capacity is the most units that the warehouse stores.
const capacity = 1000

// client is the configured provider.
type client struct{ prefix string }

func (c client) id(name string) string { return c.prefix + "-" + slug(name) }

func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(character rune) bool {
		return !(character >= 'a' && character <= 'z' || character >= '0' && character <= '9')
	})
	return strings.Join(words, "-")
}

type item struct{}

func (item) Schema() sdk.Schema {
	size := sdk.Attributes{
		"width":  {Type: sdk.Number, Required: true, Description: "The width."},
		"height": {Type: sdk.Number, Required: true, Description: "The height."},
		"unit":   {Type: sdk.String, Default: "cm", Description: "The unit of both lengths."},
		"area":   {Type: sdk.Number, Computed: true, Description: "The product of both lengths."},
	}
	part := sdk.Schema{Attributes: sdk.Attributes{
		"name":  {Type: sdk.String, Required: true, Description: "The name of the part."},
		"count": {Type: sdk.Number, Optional: true, Description: "The number of parts of each unit."},
	}}
	return sdk.Schema{
		Version:     1,
		Description: "An item of the inventory.",
		Attributes: sdk.Attributes{
			"name":     {Type: sdk.String, Required: true, ForceNew: true, Description: "The name, from which the ID is derived."},
			"quantity": {Type: sdk.Number, Default: 1, Validate: notNegative, Description: "The number of units."},
			"price":    {Type: sdk.Number, Optional: true, Description: "The price of a unit."},
			"tags":     {Type: sdk.Map(sdk.String), Optional: true, Description: "Labels with values."},
			"groups":   {Type: sdk.Set(sdk.String), Optional: true, Description: "The groups of the item."},
			"size":     {Nested: &sdk.Nested{Attributes: size}, Optional: true, Description: "The size of the item."},
			"note":     {Type: sdk.Dynamic, Optional: true, Description: "A value of any type."},
			"supplier": {Type: sdk.String, Optional: true, Sensitive: true, Description: "The supplier, which is confidential."},
			"pin":      {Type: sdk.String, Optional: true, WriteOnly: true, Description: "The PIN of the shelf, which is not stored."},
			"id":       {Type: sdk.String, Computed: true, Stable: true, Description: "The ID."},
			"total":    {Type: sdk.Number, Computed: true, Description: "The number of units, including the parts."},
			"locked":   {Type: sdk.Bool, Computed: true, Description: "Whether the shelf has a PIN."},
		},
		Blocks: map[string]sdk.Block{"part": {Nesting: sdk.NestedList, Contents: part}},
	}
}

func notNegative(quantity sdk.Value) error {
	if whole := sdk.BigInt(quantity); whole != nil && whole.Sign() < 0 {
		return errors.New("must not be negative")
	}
	return nil
}

func (item) Validate(config sdk.Object, context *sdk.Context) error {
	if price := config.Int("price"); price != nil && price.Sign() == 0 {
		context.Warn("The item is free", "Its price is zero.", "price")
	}
	return nil
}

func (item) Create(planned sdk.Object, context *sdk.Context) (sdk.Object, error) {
	if planned.String("name") == "broken" {
		panic("the shelf is broken")
	}
	state := stored(planned, context)
	log.Info("item stored", "id", state["id"])
	if planned.String("name") == "slow" {
		if err := context.SavePartial(state); err != nil {
			return nil, err
		}
		if run.Sleep(10 * time.Minute) {
			return nil, sdk.Errorf("Interrupted", "The operation ended early because the run is interrupted.")
		}
	}
	if planned.Int("quantity").Cmp(big.NewInt(capacity)) > 0 {
		partial := state.With(sdk.Object{"quantity": capacity, "total": capacity})
		full := sdk.Errorf("The warehouse is full", "Only %d units were stored.", capacity).At("quantity")
		return nil, errors.Join(full, context.SavePartial(partial))
	}
	return state, nil
}

func (item) Update(_, planned sdk.Object, context *sdk.Context) (sdk.Object, error) {
	return stored(planned, context), nil
}

func (item) Import(id string, _ *sdk.Context) (sdk.Object, error) {
	_, name, _ := strings.Cut(id, "-")
	if name == "" {
		return nil, sdk.Errorf("Invalid ID", "%q is not PREFIX-NAME.", id)
	}
	return sdk.Object{"id": id, "name": name, "quantity": 1, "total": 1, "locked": false, "part": []sdk.Value{}}, nil
}

// Upgrade converts version 0, which has `count` instead of `quantity`, and no `locked`.
func (item) Upgrade(version int64, state map[string]any) (map[string]any, error) {
	if version != 0 {
		return nil, fmt.Errorf("the version %d is not known", version)
	}
	state["quantity"] = state["count"]
	delete(state, "count")
	state["locked"] = false
	if state["part"] == nil {
		state["part"] = []any{}
	}
	return state, nil
}

func stored(planned sdk.Object, context *sdk.Context) sdk.Object {
	units := big.NewInt(1)
	for _, part := range planned.List("part") {
		count := part.(sdk.Object).Int("count")
		if count == nil {
			count = big.NewInt(1)
		}
		units.Add(units, count)
	}
	state := planned.With(sdk.Object{
		"total":  units.Mul(units, planned.Int("quantity")),
		"locked": context.Config["pin"] != nil,
	})
	if sdk.IsUnknown(planned["id"]) {
		state["id"] = context.Client.(client).id(planned.String("name"))
	}
	if size := planned.Object("size"); size != nil {
		state["size"] = size.With(sdk.Object{"area": size.Float("width") * size.Float("height")})
	}
	return state
}

type lookup struct{}

func (lookup) Schema() sdk.Schema {
	return sdk.Schema{
		Description: "The IDs of items.",
		Attributes: sdk.Attributes{
			"names": {Type: sdk.List(sdk.String), Required: true, Description: "The names of the items."},
			"ids":   {Type: sdk.Map(sdk.String), Computed: true, Description: "The ID of each name."},
			"found": {Type: sdk.Number, Computed: true, Description: "The number of names."},
		},
	}
}

func (lookup) Read(config sdk.Object, context *sdk.Context) (sdk.Object, error) {
	ids, names := map[string]string{}, config.List("names")
	for _, name := range names {
		ids[name.(string)] = context.Client.(client).id(name.(string))
	}
	return config.With(sdk.Object{"ids": ids, "found": len(names)}), nil
}

type document struct{}

func (document) Schema() sdk.Schema {
	return sdk.Schema{
		Description: "A document of a server.",
		Attributes: sdk.Attributes{
			"url":    {Type: sdk.String, Required: true, Description: "The address."},
			"status": {Type: sdk.Number, Computed: true, Description: "The status of the response."},
			"kind":   {Type: sdk.String, Computed: true, Description: "The content type."},
			"body":   {Type: sdk.String, Computed: true, Description: "The text."},
		},
	}
}

func (document) Read(config sdk.Object, _ *sdk.Context) (sdk.Object, error) {
	response, err := http.Get(config.String("url"), http.Header{Name: "accept", Value: "text/plain"})
	var failure *http.Error
	if errors.As(err, &failure) {
		return nil, sdk.Errorf("The document could not be read", "%s", failure.Reason).At("url")
	}
	if err != nil {
		return nil, err
	}
	body, err := response.Bytes()
	return config.With(sdk.Object{
		"status": response.Status, "kind": response.Header("content-type"), "body": string(body),
	}), err
}

type ticket struct{}

func (ticket) Schema() sdk.Schema {
	return sdk.Schema{
		Description: "The next number of a queue, which begins in each run.",
		Attributes: sdk.Attributes{
			"queue":  {Type: sdk.String, Required: true, Description: "The name of the queue."},
			"number": {Type: sdk.Number, Computed: true, Description: "The number."},
		},
	}
}

func (ticket) Read(config sdk.Object, _ *sdk.Context) (sdk.Object, error) {
	if err := shared.PerSecond("tickets", 1000).WithBurst(100).Wait(); err != nil {
		return nil, err
	}
	key := "queue/" + config.String("queue")
	queue, err := shared.Lock(key, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	defer queue.Release()
	number, expected := 1, shared.Absent
	if last, exists := shared.Get(key); exists {
		previous, err := strconv.Atoi(string(last.Bytes))
		if err != nil {
			return nil, err
		}
		number, expected = previous+1, shared.AtVersion(last.Version)
	}
	_, err = shared.Put(key, []byte(strconv.Itoa(number)), expected)
	return config.With(sdk.Object{"number": number}), err
}

var inventory = sdk.Provider{
	Schema: sdk.Schema{
		Description: "A provider that needs no service.",
		Attributes: sdk.Attributes{
			"prefix": {Type: sdk.String, Optional: true, Description: "The prefix of each ID; by default `item`."},
		},
	},
	Configure: func(config sdk.Object, _ *sdk.Context) (any, error) {
		prefix := config.String("prefix")
		if prefix == "" {
			prefix = "item"
		}
		return client{prefix}, nil
	},
	Resources:   map[string]sdk.Resource{"inventory_item": item{}},
	DataSources: map[string]sdk.DataSource{
		"inventory_lookup": lookup{}, "inventory_document": document{}, "inventory_ticket": ticket{},
	},
	Functions: map[string]sdk.Function{
		"slug": {
			Summary:    "Converts a name to a part of an ID.",
			Parameters: []sdk.Parameter{{Name: "text", Type: sdk.String, Description: "The name."}},
			Returns:    sdk.String,
			Call: func(arguments []sdk.Value) (sdk.Value, error) {
				result := slug(arguments[0].(string))
				if result == "" {
					return nil, &sdk.ArgumentError{Message: "the text contains no letter and no digit"}
				}
				return result, nil
			},
		},
		"total": {
			Summary:  "Adds integers of any size.",
			Variadic: &sdk.Parameter{Name: "numbers", Type: sdk.Number, Description: "The integers."},
			Returns:  sdk.Number,
			Call: func(arguments []sdk.Value) (sdk.Value, error) {
				sum := new(big.Int)
				for index, argument := range arguments {
					whole := sdk.BigInt(argument)
					if whole == nil {
						return nil, &sdk.ArgumentError{Argument: uint64(index), Message: "the number is not an integer"}
					}
					sum.Add(sum, whole)
				}
				return sum, nil
			},
		},
		"describe": {
			Summary:    "Describes a value of any type.",
			Parameters: []sdk.Parameter{{Name: "value", Type: sdk.Dynamic, Description: "The value."}},
			Returns:    sdk.String,
			Call: func(arguments []sdk.Value) (sdk.Value, error) {
				if value, isKnown := arguments[0].(sdk.DynamicValue); isKnown {
					return value.Type.JSON(), nil
				}
				return "null", nil
			},
		},
	},
}
