//go:build !wasip1

package main

import (
	"fmt"
	"os"
)

// The native program checks the provider.
func main() {
	if err := inventory.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
