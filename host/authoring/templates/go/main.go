// Command terraform-provider-@@name@@ is the component of the @@name@@ provider.
package main

import (
	"wardian.dev/sdk-go/component"

	"terraform-provider-@@name@@/internal/provider"
)

func init() { component.Export(provider.New()) }

func main() {}
