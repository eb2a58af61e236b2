package shared

import (
	"errors"
	"testing"
	"time"

	"wardian.dev/sdk-go/run"
)

func emptyMemory(t *testing.T) {
	previous := SetHost(NewMemory())
	t.Cleanup(func() { SetHost(previous) })
}

func TestValuesAreSetInTheExpectedState(t *testing.T) {
	emptyMemory(t)
	if _, exists := Get("a"); exists {
		t.Error("a value exists")
	}
	first, err := Put("a", []byte("1"), Absent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Put("a", []byte("2"), Absent); err != ErrConflict {
		t.Errorf("%v", err)
	}
	second, err := Put("a", []byte("2"), AtVersion(first))
	if err != nil || second <= first {
		t.Errorf("%d, %v", second, err)
	}
	if _, err := Put("a", []byte("3"), AtVersion(first)); err != ErrConflict {
		t.Errorf("%v", err)
	}
	if found, _ := Get("a"); string(found.Bytes) != "2" || found.Version != second {
		t.Errorf("%v", found)
	}
	if err := Remove("a", AtVersion(first)); err != ErrConflict {
		t.Errorf("%v", err)
	}
	if err := Remove("a", Any); err != nil {
		t.Error(err)
	}
	if _, exists := Get("a"); exists {
		t.Error("the value was not removed")
	}
}

func TestValueIsCreatedOnce(t *testing.T) {
	emptyMemory(t)
	failure := errors.New("no")
	if _, err := Once("token", func() ([]byte, error) { return nil, failure }); err != failure {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"first", "second"} {
		value, err := Once("token", func() ([]byte, error) { return []byte(text), nil })
		if err != nil || string(value) != "first" {
			t.Errorf("%q, %v", value, err)
		}
	}
}

func TestHeldLockIsReported(t *testing.T) {
	emptyMemory(t)
	held, err := Lock("zone", time.Minute)
	if err != nil || !held.Renew(time.Minute) {
		t.Fatal(err)
	}
	if _, err := Lock("zone", time.Minute); err == nil {
		t.Error("a held lock was taken")
	}
	held.Release()
	if held.Renew(time.Minute) {
		t.Error("a released lock was renewed")
	}
	next, err := Lock("zone", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	held.Release()
	if !next.Renew(time.Minute) {
		t.Error("a second release released the lock of another holder")
	}
}

func TestRateSpreadsEventsAndEndsWithAnInterruption(t *testing.T) {
	emptyMemory(t)
	var waited time.Duration
	isInterrupted := false
	defer run.SetHost(run.SetHost(run.Host{
		Interrupted: func() bool { return isInterrupted },
		Sleep:       func(duration time.Duration) bool { waited += duration; return isInterrupted },
	}))
	limiter := PerMinute("api", 60).WithBurst(2)
	for range 2 {
		if err := limiter.Wait(); err != nil || waited != 0 {
			t.Errorf("%v, %v", waited, err)
		}
	}
	if err := limiter.Wait(); err != nil || waited < 900*time.Millisecond || waited > time.Second {
		t.Errorf("%v, %v", waited, err)
	}
	isInterrupted = true
	if err := limiter.Wait(); err != ErrInterrupted {
		t.Errorf("%v", err)
	}
	if err := PerSecond("never", 0).Wait(); err == nil {
		t.Error("a rate of zero is accepted")
	}
}
