//go:build wasip1

package bindings

import "unsafe"

// The host allocates memory for arguments and results with cabi_realloc, while the component must not
// call the host. Go's allocator may call it, because the garbage collector reads the clock. Therefore,
// this memory does not belong to Go's heap: it consists of blocks that live as long as the component,
// and that the next call reuses. Values that are lifted from it are copies.
var (
	blocks []block
	// room is the capacity of blocks, which grows only outside of cabi_realloc.
	room [64]block
	// early is the memory of allocations before the runtime is initialized: the adapter of WASI
	// preview 1 allocates its state while the runtime starts, and keeps it.
	early         [256 << 10]byte
	earlyUsed     uintptr
	isInitialized bool
)

// block is a piece of memory outside of Go's heap.
type block struct{ start, size, used uintptr }

const minBlock = 64 << 10

func init() {
	blocks = room[:0]
	isInitialized = true
}

//go:linkname sbrk runtime.sbrk
func sbrk(size uintptr) unsafe.Pointer

//go:wasmexport cabi_realloc
func reallocate(old, oldSize, alignment, size uint32) uint32 {
	var address uintptr
	if isInitialized {
		address = fromBlocks(uintptr(size), uintptr(alignment))
	} else {
		start := uintptr(unsafe.Pointer(&early))
		address = (start + earlyUsed + uintptr(alignment) - 1) &^ (uintptr(alignment) - 1)
		earlyUsed = address + uintptr(size) - start
		if earlyUsed > uintptr(len(early)) {
			address = 0
		}
	}
	if address == 0 {
		exhausted()
	}
	if old != 0 && oldSize > 0 {
		copy(bytesAt(address, int(size)), bytesAt(uintptr(old), int(min(oldSize, size))))
	}
	return uint32(address)
}

func fromBlocks(size, alignment uintptr) uintptr {
	for index := range blocks {
		one := &blocks[index]
		offset := (one.used + alignment - 1) &^ (alignment - 1)
		if offset+size <= one.size {
			one.used = offset + size
			return one.start + offset
		}
	}
	// Blocks grow exponentially, so their number is limited by the size of the memory.
	wanted := uintptr(minBlock)
	for _, one := range blocks {
		wanted = max(wanted, 2*one.size)
	}
	wanted = (max(wanted, size) + minBlock - 1) &^ (minBlock - 1)
	start := uintptr(sbrk(wanted))
	if start == 0 || len(blocks) == len(room) {
		return 0
	}
	blocks = append(blocks, block{start, wanted, size})
	return start
}

// exhausted ends the component with a trap: the host must not receive an address.
func exhausted() {
	for {
		earlyUsed = *(*uintptr)(pointerTo(^uintptr(0) >> 32))
	}
}

// referenced are the objects in Go's heap whose addresses the host reads. The collector does not move
// objects, so an address remains valid as long as the object is referenced from here.
var referenced []unsafe.Pointer

// allocate returns zeroed memory, aligned to 8 bytes, that lives until release.
func allocate(size int) uintptr {
	memory := make([]uint64, (max(size, 1)+7)/8)
	pointer := unsafe.Pointer(unsafe.SliceData(memory))
	referenced = append(referenced, pointer)
	return uintptr(pointer)
}

// release ends the life of the memory of a call. The host has read its results, and the component
// must not call the host, so nothing is allocated.
func release() {
	releaseSince(0)
	for index := range blocks {
		blocks[index].used = 0
	}
}

// releaseSince ends the life of the objects that have been referenced since then.
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
	return string(bytesAt(uintptr(pointer), int(length)))
}

func liftBytes(pointer, length uint32) []byte {
	if length == 0 {
		return nil
	}
	return append([]byte(nil), bytesAt(uintptr(pointer), int(length))...)
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
