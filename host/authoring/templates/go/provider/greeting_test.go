package provider

import (
	"testing"

	sdk "wardian.dev/sdk-go"
)

func TestGreetingContainsTheName(t *testing.T) {
	read, err := greeting{}.Read(sdk.Object{"name": "Ada", "text": nil}, &sdk.Context{})
	if err != nil || read.String("text") != "Hello, Ada!" {
		t.Errorf("%v, %v", read, err)
	}
}

func TestEmptyNameIsRejected(t *testing.T) {
	if validateName("") == nil || validateName("Ada") != nil {
		t.Error("a name must not be empty")
	}
}
