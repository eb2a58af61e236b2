package shared

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"wardian.dev/sdk-go/run"
)

// Memory is the shared memory of native tests. A wait for a lock that is held is an error, because it would
// not end.
type Memory struct {
	mutex  sync.Mutex
	values map[string]Value
	locks  map[string]uint64
	rates  map[string]time.Time
	last   uint64
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{values: map[string]Value{}, locks: map[string]uint64{}, rates: map[string]time.Time{}}
}

func (m *Memory) next() uint64 {
	m.last++
	return m.last
}

func (m *Memory) expect(key string, expected Expectation) error {
	current, exists := m.values[key]
	version, hasVersion := expected.Version()
	if expected.IsAbsent() && exists || hasVersion && (!exists || current.Version != version) {
		return ErrConflict
	}
	return nil
}

func (m *Memory) Get(key string) (Value, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	value, exists := m.values[key]
	return Value{bytes.Clone(value.Bytes), value.Version}, exists
}

func (m *Memory) Put(key string, value []byte, expected Expectation) (uint64, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.expect(key, expected); err != nil {
		return 0, err
	}
	version := m.next()
	m.values[key] = Value{bytes.Clone(value), version}
	return version, nil
}

func (m *Memory) Remove(key string, expected Expectation) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.expect(key, expected); err != nil {
		return err
	}
	delete(m.values, key)
	return nil
}

func (m *Memory) Lock(name string, _ time.Duration) (HeldLock, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if _, isHeld := m.locks[name]; isHeld {
		return nil, LimitError(fmt.Sprintf("the lock %q is held by the same test, so the wait would not end", name))
	}
	number := m.next()
	m.locks[name] = number
	return &heldLock{m, name, number}, nil
}

func (m *Memory) Take(limiter RateLimiter) error {
	if limiter.Events == 0 || limiter.Seconds == 0 || limiter.Burst == 0 {
		return LimitError("a rate has at least one event per period, and a burst of one")
	}
	interval := time.Duration(limiter.Seconds) * time.Second / time.Duration(limiter.Events)
	m.mutex.Lock()
	now := time.Now()
	next := m.rates[limiter.Name]
	if next.Before(now) {
		next = now
	}
	m.rates[limiter.Name] = next.Add(interval)
	m.mutex.Unlock()
	if run.Sleep(max(0, next.Sub(now)-interval*time.Duration(limiter.Burst-1))) {
		return ErrInterrupted
	}
	return nil
}

type heldLock struct {
	memory *Memory
	name   string
	number uint64
}

func (l *heldLock) Renew(time.Duration) bool {
	l.memory.mutex.Lock()
	defer l.memory.mutex.Unlock()
	return l.memory.locks[l.name] == l.number
}

func (l *heldLock) Release() {
	l.memory.mutex.Lock()
	defer l.memory.mutex.Unlock()
	if l.memory.locks[l.name] == l.number {
		delete(l.memory.locks, l.name)
	}
}
