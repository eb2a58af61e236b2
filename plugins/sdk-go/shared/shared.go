// Package shared has memory, locks and rate limits that all instances of a provider configuration share
// during a run.
//
// The host runs the concurrent calls of a provider in separate instances with separate memory, so a package
// variable exists once per instance. What must exist once per run is kept here: a session, a token, a lock
// for each zone, the request rate of an API. The host keeps values in memory only, redacts them in the
// provider's output, and limits a value to 64 KiB.
//
//	// One instance logs in; the others wait and use its token.
//	token, err := shared.Once("token", logIn)
//
//	// At most 10 requests per second, in all instances together.
//	err = shared.PerSecond("api", 10).Wait()
//
//	// One change of a zone at a time.
//	zone, err := shared.Lock("zone/example.com", 10*time.Minute)
//	if err != nil {
//		return nil, err
//	}
//	defer zone.Release()
package shared

import (
	"time"

	sdk "wardian.dev/sdk-go"
)

// Errors of this package. A limit of the host is a *sdk.Diagnostic too.
var (
	// ErrConflict: the key is not in the expected state.
	ErrConflict error = sdk.Errorf("Shared value changed", "Another instance changed the value at the same time.")
	// ErrInterrupted: the run was interrupted during the wait.
	ErrInterrupted error = sdk.Errorf("Interrupted", "The operation ended early because the run is interrupted.")
)

// LimitError returns the error of an operation that would exceed a limit of the host.
func LimitError(problem string) error {
	return sdk.Errorf("Shared memory limit reached", "%s", problem)
}

// Value is a value and its version, which grows with each change.
type Value struct {
	Bytes   []byte
	Version uint64
}

// Expectation is the state of a key in which a value is set or removed.
type Expectation struct {
	kind    expectationKind
	version uint64
}

type expectationKind uint8

const (
	anyState expectationKind = iota
	absent
	atVersion
)

var (
	// Any is any state.
	Any = Expectation{}
	// Absent is the state of a key without a value.
	Absent = Expectation{kind: absent}
)

// AtVersion is the state of a key whose value has a version.
func AtVersion(version uint64) Expectation { return Expectation{atVersion, version} }

// IsAbsent returns whether the key must have no value.
func (e Expectation) IsAbsent() bool { return e.kind == absent }

// Version returns the version that the value must have, if it must have one.
func (e Expectation) Version() (version uint64, isExpected bool) {
	return e.version, e.kind == atVersion
}

// HeldLock is a lock that is held. The end of the instance releases it too.
type HeldLock interface {
	// Renew extends the lease to a duration from now. It returns false if the lease has ended, and another
	// instance may hold the lock.
	Renew(lease time.Duration) bool
	Release()
}

// Host has the memory. In a component, it is the host; tests use a Memory.
type Host interface {
	Get(key string) (Value, bool)
	Put(key string, value []byte, expected Expectation) (version uint64, err error)
	Remove(key string, expected Expectation) error
	Lock(name string, lease time.Duration) (HeldLock, error)
	Take(limiter RateLimiter) error
}

var host Host = NewMemory()

// SetHost sets the host, and returns the previous one. A test begins with an empty memory after
// SetHost(NewMemory()).
func SetHost(next Host) Host {
	previous := host
	host = next
	return previous
}

// Get returns the value of a key, if it has one.
func Get(key string) (Value, bool) { return host.Get(key) }

// Put sets the value of a key that is in the expected state, and returns the new version. The error is
// ErrConflict if the key is in another state.
func Put(key string, value []byte, expected Expectation) (version uint64, err error) {
	return host.Put(key, value, expected)
}

// Remove removes the value of a key that is in the expected state. The error is ErrConflict if the key is in
// another state.
func Remove(key string, expected Expectation) error { return host.Remove(key, expected) }

// Once returns the value of a key, which the first instance creates. The other instances wait meanwhile. If
// create fails, its error is returned, and the next instance tries it.
func Once(key string, create func() ([]byte, error)) ([]byte, error) {
	if found, exists := Get(key); exists {
		return found.Bytes, nil
	}
	creating, err := Lock("once/"+key, defaultLease)
	if err != nil {
		return nil, err
	}
	defer creating.Release()
	if found, exists := Get(key); exists {
		return found.Bytes, nil
	}
	value, err := create()
	if err != nil {
		return nil, err
	}
	_, err = Put(key, value, Any)
	return value, err
}

const defaultLease = 10 * time.Minute

// Lock waits for a lock. It is released by Release, or when its lease ends.
func Lock(name string, lease time.Duration) (HeldLock, error) { return host.Lock(name, lease) }

// RateLimiter is a rate that all instances together do not exceed: Events in a number of Seconds, of which
// Burst may occur at once after a pause. Limiters with one name share their events.
type RateLimiter struct {
	Name                   string
	Events, Seconds, Burst uint32
}

// PerSecond returns a limiter for a number of events per second.
func PerSecond(name string, events uint32) RateLimiter {
	return RateLimiter{Name: name, Events: events, Seconds: 1, Burst: 1}
}

// PerMinute returns a limiter for a number of events per minute.
func PerMinute(name string, events uint32) RateLimiter {
	return RateLimiter{Name: name, Events: events, Seconds: 60, Burst: 1}
}

// WithBurst returns a limiter that allows a number of events at once after a pause.
func (l RateLimiter) WithBurst(events uint32) RateLimiter {
	l.Burst = events
	return l
}

// Wait waits until one more event may occur. The error is ErrInterrupted if the run is interrupted.
func (l RateLimiter) Wait() error { return host.Take(l) }
