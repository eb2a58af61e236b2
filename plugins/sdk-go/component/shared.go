//go:build wasip1

package component

import (
	"time"

	"wardian.dev/sdk-go/bindings"
	"wardian.dev/sdk-go/shared"
)

// hostMemory is the shared memory of the host.
type hostMemory struct{}

func (hostMemory) Get(key string) (shared.Value, bool) {
	found := bindings.SharedGet(key)
	if found == nil {
		return shared.Value{}, false
	}
	return shared.Value{Bytes: found.Value, Version: found.Version}, true
}

func (hostMemory) Put(key string, value []byte, expected shared.Expectation) (uint64, error) {
	version, failure := bindings.SharedPut(key, value, expectation(expected))
	return version, sharedError(failure)
}

func (hostMemory) Remove(key string, expected shared.Expectation) error {
	return sharedError(bindings.SharedRemove(key, expectation(expected)))
}

func (hostMemory) Lock(name string, lease time.Duration) (shared.HeldLock, error) {
	held, failure := bindings.SharedLock(name, leaseMilliseconds(lease))
	if failure != nil {
		return nil, sharedError(failure)
	}
	return &hostLock{held}, nil
}

func (hostMemory) Take(limiter shared.RateLimiter) error {
	return sharedError(bindings.SharedTake(limiter.Name, bindings.SharedRate{
		Events: limiter.Events, Seconds: limiter.Seconds, Burst: limiter.Burst,
	}))
}

// hostLock is a lock of the host; held is nil after its release.
type hostLock struct{ held *bindings.SharedHeldLock }

func (l *hostLock) Renew(lease time.Duration) bool {
	return l.held != nil && l.held.Renew(leaseMilliseconds(lease))
}

func (l *hostLock) Release() {
	if l.held != nil {
		l.held.Close()
		l.held = nil
	}
}

func leaseMilliseconds(lease time.Duration) uint64 { return uint64(max(0, lease.Milliseconds())) }

func expectation(expected shared.Expectation) bindings.SharedExpectation {
	if expected.IsAbsent() {
		return bindings.SharedExpectation{Tag: bindings.SharedExpectationAbsent}
	}
	if version, hasVersion := expected.Version(); hasVersion {
		return bindings.SharedExpectation{Tag: bindings.SharedExpectationVersion, Version: version}
	}
	return bindings.SharedExpectation{Tag: bindings.SharedExpectationAny}
}

func sharedError(failure *bindings.SharedError) error {
	switch {
	case failure == nil:
		return nil
	case failure.Tag == bindings.SharedErrorConflict:
		return shared.ErrConflict
	case failure.Tag == bindings.SharedErrorLimit:
		return shared.LimitError(failure.Limit)
	}
	return shared.ErrInterrupted
}
