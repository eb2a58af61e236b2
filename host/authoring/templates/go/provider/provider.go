// Package provider implements the @@name@@ provider.
package provider

import sdk "wardian.dev/sdk-go"

// New returns the provider.
func New() sdk.Provider {
	return sdk.Provider{
		Resources:   map[string]sdk.Resource{"@@name@@_note": note{}},
		DataSources: map[string]sdk.DataSource{"@@name@@_greeting": greeting{}},
	}
}
