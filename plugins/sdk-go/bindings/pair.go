package bindings

// Pair is a tuple of two values.
type Pair[A, B any] struct {
	First  A
	Second B
}
