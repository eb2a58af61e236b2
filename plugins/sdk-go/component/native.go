//go:build !wasip1

// Package component exports a provider from a component.
package component

import sdk "wardian.dev/sdk-go"

// Export does nothing in a native program, so that native tests can contain the package main of a
// component.
func Export(sdk.Provider) {}
