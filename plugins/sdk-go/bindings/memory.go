//go:build wasip1

package bindings

import "unsafe"

// The memory of arguments and results. The collector does not move objects, so an address remains
// valid as long as the object is referenced from here.
var referenced []unsafe.Pointer

// early is the memory of allocations before the runtime is initialized: the adapter of WASI
// preview 1 allocates its state while the runtime starts.
var early [256 << 10]byte

var (
	earlyUsed     uintptr
	isInitialized bool
)

func init() { isInitialized = true }

//go:wasmexport cabi_realloc
func reallocate(old, oldSize, alignment, size uint32) uint32 {
	if !isInitialized {
		start := (uintptr(unsafe.Pointer(&early)) + earlyUsed + uintptr(alignment) - 1) &^ (uintptr(alignment) - 1)
		earlyUsed = start + uintptr(size) - uintptr(unsafe.Pointer(&early))
		if earlyUsed > uintptr(len(early)) {
			trap()
		}
		return uint32(start)
	}
	address := allocate(int(size))
	if old != 0 && oldSize > 0 {
		copy(bytesAt(address, int(size)), bytesAt(uintptr(old), int(min(oldSize, size))))
	}
	return uint32(address)
}

// trap ends the component: the runtime cannot panic before it is initialized.
func trap() {
	for {
		earlyUsed = *(*uintptr)(unsafe.Pointer(^uintptr(0) >> 33))
	}
}

// allocate returns zeroed memory, aligned to 8 bytes, that lives until release.
func allocate(size int) uintptr {
	memory := make([]uint64, (max(size, 1)+7)/8)
	pointer := unsafe.Pointer(unsafe.SliceData(memory))
	referenced = append(referenced, pointer)
	return uintptr(pointer)
}

// release ends the life of the memory of a call. The host has read its results.
func release() { releaseSince(0) }

// releaseSince ends the life of the memory that was allocated since then, except for the parts that
// values refer to.
func releaseSince(length int) {
	clear(referenced[length:])
	referenced = referenced[:length]
}

func pointerTo(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

func bytesAt(address uintptr, length int) []byte {
	return unsafe.Slice((*byte)(pointerTo(address)), length)
}

func storeU8(address uintptr, value uint8)   { *(*uint8)(pointerTo(address)) = value }
func storeU16(address uintptr, value uint16) { *(*uint16)(pointerTo(address)) = value }
func storeU32(address uintptr, value uint32) { *(*uint32)(pointerTo(address)) = value }
func storeU64(address uintptr, value uint64) { *(*uint64)(pointerTo(address)) = value }
func storeS64(address uintptr, value int64)  { *(*int64)(pointerTo(address)) = value }
func storeBool(address uintptr, value bool)  { storeU8(address, uint8(lowerBool(value))) }

func loadU8(address uintptr) uint8   { return *(*uint8)(pointerTo(address)) }
func loadU16(address uintptr) uint16 { return *(*uint16)(pointerTo(address)) }
func loadU32(address uintptr) uint32 { return *(*uint32)(pointerTo(address)) }
func loadU64(address uintptr) uint64 { return *(*uint64)(pointerTo(address)) }
func loadS64(address uintptr) int64  { return *(*int64)(pointerTo(address)) }
func loadBool(address uintptr) bool  { return loadU8(address) != 0 }

func lowerBool(value bool) uint32 {
	if value {
		return 1
	}
	return 0
}

func lowerString(value string) (uint32, uint32) {
	pointer := unsafe.Pointer(unsafe.StringData(value))
	referenced = append(referenced, pointer)
	return uint32(uintptr(pointer)), uint32(len(value))
}

func lowerBytes(value []byte) (uint32, uint32) {
	pointer := unsafe.Pointer(unsafe.SliceData(value))
	referenced = append(referenced, pointer)
	return uint32(uintptr(pointer)), uint32(len(value))
}

func lowerList[T any](values []T, size int, store func(uintptr, T)) (uint32, uint32) {
	if len(values) == 0 {
		return 8, 0
	}
	address := allocate(len(values) * size)
	for index, value := range values {
		store(address+uintptr(index*size), value)
	}
	return uint32(address), uint32(len(values))
}

func liftString(pointer, length uint32) string {
	if length == 0 {
		return ""
	}
	return unsafe.String((*byte)(pointerTo(uintptr(pointer))), int(length))
}

func liftBytes(pointer, length uint32) []byte {
	if length == 0 {
		return nil
	}
	return bytesAt(uintptr(pointer), int(length))
}

func liftList[T any](pointer, length uint32, size int, load func(uintptr) T) []T {
	values := make([]T, length)
	for index := range values {
		values[index] = load(uintptr(pointer) + uintptr(index*size))
	}
	return values
}

func storePointer(address uintptr, pointer, length uint32) {
	storeU32(address, pointer)
	storeU32(address+4, length)
}

func storeString(address uintptr, value string) {
	pointer, length := lowerString(value)
	storePointer(address, pointer, length)
}

func loadString(address uintptr) string { return liftString(loadU32(address), loadU32(address+4)) }

func storeBytes(address uintptr, value []byte) {
	pointer, length := lowerBytes(value)
	storePointer(address, pointer, length)
}

func loadBytes(address uintptr) []byte { return liftBytes(loadU32(address), loadU32(address+4)) }

func storeList[T any](size int, store func(uintptr, T)) func(uintptr, []T) {
	return func(address uintptr, values []T) {
		pointer, length := lowerList(values, size, store)
		storePointer(address, pointer, length)
	}
}

func loadList[T any](size int, load func(uintptr) T) func(uintptr) []T {
	return func(address uintptr) []T {
		return liftList(loadU32(address), loadU32(address+4), size, load)
	}
}

func storeOption[T any](offset uintptr, store func(uintptr, T)) func(uintptr, *T) {
	return func(address uintptr, value *T) {
		storeBool(address, value != nil)
		if value != nil {
			store(address+offset, *value)
		}
	}
}

func loadOption[T any](offset uintptr, load func(uintptr) T) func(uintptr) *T {
	return func(address uintptr) *T {
		if !loadBool(address) {
			return nil
		}
		value := load(address + offset)
		return &value
	}
}

func storePair[A, B any](offset uintptr, first func(uintptr, A), second func(uintptr, B)) func(uintptr, Pair[A, B]) {
	return func(address uintptr, value Pair[A, B]) {
		first(address, value.First)
		second(address+offset, value.Second)
	}
}

func loadPair[A, B any](offset uintptr, first func(uintptr) A, second func(uintptr) B) func(uintptr) Pair[A, B] {
	return func(address uintptr) Pair[A, B] {
		return Pair[A, B]{first(address), second(address + offset)}
	}
}
