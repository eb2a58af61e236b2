package provider

import "testing"

func TestSchemasHaveNoContradictions(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
}
