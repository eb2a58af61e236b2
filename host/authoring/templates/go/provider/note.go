package provider

import (
	"errors"
	"unicode/utf8"

	sdk "wardian.dev/sdk-go"
)

const maxTitleLength = 80

// note is @@name@@_note, a resource with a computed attribute. Replace the bodies of Create, Update and
// Import with requests to your service (package wardian.dev/sdk-go/http), and add Read and Delete.
type note struct{}

func (note) Schema() sdk.Schema {
	return sdk.Schema{
		Description: "A note.",
		Attributes: sdk.Attributes{
			"title": {
				Type: sdk.String, Required: true, ForceNew: true, Validate: validateTitle,
				Description: "The title. Changing it replaces the note.",
			},
			"text": {Type: sdk.String, Default: "", Description: "The text. Empty by default."},
			"id":   {Type: sdk.String, Computed: true, Stable: true, Description: "The ID, which is derived from the title."},
		},
	}
}

// validateTitle returns the requirement that a title does not meet.
func validateTitle(value sdk.Value) error {
	title, _ := value.(string)
	if length := utf8.RuneCountInString(title); length < 1 || length > maxTitleLength {
		return errors.New("must have 1 to 80 characters")
	}
	return nil
}

func (note) Create(planned sdk.Object, _ *sdk.Context) (sdk.Object, error) {
	return planned.With(sdk.Object{"id": noteID(planned.String("title"))}), nil
}

func (note) Update(_, planned sdk.Object, _ *sdk.Context) (sdk.Object, error) {
	return planned, nil
}

func (note) Import(title string, _ *sdk.Context) (sdk.Object, error) {
	return sdk.Object{"title": title, "text": "", "id": noteID(title)}, nil
}

func noteID(title string) string { return "note-" + title }
