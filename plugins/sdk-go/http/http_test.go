package http

import (
	"testing"
	"time"

	"wardian.dev/sdk-go/run"
)

func TestOnlyRequestsThatChangeNothingEndOnInterrupt(t *testing.T) {
	for method, ends := range map[string]bool{
		"GET": true, "HEAD": true, "OPTIONS": true, "get": true,
		"POST": false, "PUT": false, "PATCH": false, "DELETE": false, "PROPFIND": false, "": false,
	} {
		if found := (&Request{Method: method}).EndsOnInterrupt(); found != ends {
			t.Errorf("%q: %v", method, found)
		}
	}
	if !(&Request{Method: "POST", OnInterrupt: End}).EndsOnInterrupt() {
		t.Error("a POST with the option End continues")
	}
	if (&Request{Method: "GET", OnInterrupt: Continue}).EndsOnInterrupt() {
		t.Error("a GET with the option Continue ends")
	}
}

func TestRequestsAfterAnInterruptContinue(t *testing.T) {
	original := run.SetHost(run.Host{
		Interrupted: func() bool { return true },
		Sleep:       func(time.Duration) bool { return true },
	})
	defer run.SetHost(original)
	for _, request := range []Request{{Method: "GET"}, {Method: "POST", OnInterrupt: End}} {
		if request.EndsOnInterrupt() {
			t.Errorf("%v ends", request)
		}
	}
}
