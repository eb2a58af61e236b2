package provider

import (
	"strings"
	"testing"

	sdk "wardian.dev/sdk-go"
)

func TestNoteHasAnID(t *testing.T) {
	planned := sdk.Object{"title": "a", "text": "b", "id": sdk.Unknown{}}
	created, err := note{}.Create(planned, &sdk.Context{})
	if err != nil || created.String("id") != "note-a" {
		t.Errorf("%v, %v", created, err)
	}
}

func TestImportedNoteIsAsCreated(t *testing.T) {
	imported, err := note{}.Import("a", &sdk.Context{})
	if err != nil {
		t.Fatal(err)
	}
	created, err := note{}.Create(sdk.Object{"title": "a", "text": "", "id": sdk.Unknown{}}, &sdk.Context{})
	if err != nil || !sdk.Same(imported, created) {
		t.Errorf("%v, %v, %v", imported, created, err)
	}
}

func TestInvalidTitlesAreRejected(t *testing.T) {
	for _, title := range []string{"", strings.Repeat("ä", 81)} {
		if validateTitle(title) == nil {
			t.Errorf("%q is accepted", title)
		}
	}
	if err := validateTitle(strings.Repeat("ä", 80)); err != nil {
		t.Error(err)
	}
}
