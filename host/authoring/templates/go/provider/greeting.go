package provider

import (
	"errors"
	"fmt"

	sdk "wardian.dev/sdk-go"
)

// greeting is @@name@@_greeting, a data source.
type greeting struct{}

func (greeting) Schema() sdk.Schema {
	return sdk.Schema{
		Description: "A greeting.",
		Attributes: sdk.Attributes{
			"name": {
				Type: sdk.String, Required: true, Validate: validateName,
				Description: "The name of the person to greet.",
			},
			"text": {Type: sdk.String, Computed: true, Description: "The greeting."},
		},
	}
}

func validateName(value sdk.Value) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func (greeting) Read(config sdk.Object, _ *sdk.Context) (sdk.Object, error) {
	return config.With(sdk.Object{"text": fmt.Sprintf("Hello, %s!", config.String("name"))}), nil
}
