// Package run reports the interruption of a run, for example by Ctrl-C.
package run

import "time"

// Host is the run to which calls belong. In a component, it is the host's; tests set another one.
type Host struct {
	Interrupted func() bool
	Sleep       func(time.Duration) bool
}

var host = Host{
	Interrupted: func() bool { return false },
	Sleep:       func(duration time.Duration) bool { time.Sleep(duration); return false },
}

// SetHost sets the run, and returns the previous one.
func SetHost(next Host) Host {
	previous := host
	host = next
	return previous
}

// Interrupted returns whether the run is interrupted. A call should then end soon, and return the
// state that it has reached.
func Interrupted() bool { return host.Interrupted() }

// Sleep waits, at most until the run is interrupted. It returns whether the run is interrupted.
func Sleep(duration time.Duration) bool { return host.Sleep(duration) }
