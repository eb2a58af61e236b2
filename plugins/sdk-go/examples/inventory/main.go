//go:build wasip1

package main

import "wardian.dev/sdk-go/component"

func init() { component.Export(inventory) }

func main() {}
