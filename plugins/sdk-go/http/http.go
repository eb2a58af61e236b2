// Package http sends HTTP requests through the host, which checks each request against policy and
// provides TLS. Redirects are returned, not followed. The package net/http does not work in a
// component, because Go has no outgoing sockets there.
package http

import (
	"io"
	"strings"
	"time"

	"wardian.dev/sdk-go/run"
)

// Reason is why there is no response, or only a part of it.
type Reason string

const (
	Denied      Reason = "denied"
	Invalid     Reason = "invalid"
	TimedOut    Reason = "timed out"
	TooLarge    Reason = "too large"
	Interrupted Reason = "interrupted"
	Failed      Reason = "failed"
)

// Error is the error of a request.
type Error struct {
	Reason  Reason
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Message
}

// Header is a header. A name can occur several times.
type Header struct{ Name, Value string }

// OnInterrupt is what happens to a request that is in progress when the run is interrupted.
type OnInterrupt uint8

const (
	// ByMethod: requests with the methods GET, HEAD and OPTIONS end, and others continue, because their
	// effect would be unknown.
	ByMethod OnInterrupt = iota
	// End: the request ends with an error, whose reason is Interrupted.
	End
	// Continue: the request continues, because the provider must know its effect.
	Continue
)

// Request is a request. A timeout of 0 is the host's.
type Request struct {
	Method, URL string
	Headers     []Header
	Body        []byte
	// ConnectTimeout limits the connection, FirstByteTimeout the wait for the response, and
	// BetweenBytesTimeout the wait for each part of the body.
	ConnectTimeout, FirstByteTimeout, BetweenBytesTimeout time.Duration
	// OnInterrupt is by default ByMethod. A request that begins after the interruption continues.
	OnInterrupt OnInterrupt
}

// EndsOnInterrupt returns whether the request ends if the run is interrupted while it is in progress.
func (r *Request) EndsOnInterrupt() bool {
	if run.Interrupted() {
		return false
	}
	switch r.OnInterrupt {
	case End:
		return true
	case Continue:
		return false
	}
	switch strings.ToUpper(r.Method) {
	case "GET", "HEAD", "OPTIONS":
		return true
	}
	return false
}

// Response is a response with any status. The body must be closed, or read to its end.
type Response struct {
	Status  int
	Headers []Header
	Body    io.ReadCloser
}

// Header returns the value of a header, or "".
func (r *Response) Header(name string) string {
	for _, one := range r.Headers {
		if strings.EqualFold(one.Name, name) {
			return one.Value
		}
	}
	return ""
}

// Bytes returns the complete body.
func (r *Response) Bytes() ([]byte, error) {
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// Sender sends requests. In a component, it is the host; tests set another one.
type Sender func(*Request) (*Response, error)

var sender Sender = func(*Request) (*Response, error) {
	return nil, &Error{Failed, "there is no host; a test must call SetSender first"}
}

// SetSender sets the function that sends requests.
func SetSender(next Sender) { sender = next }

// Send sends a request, and waits for the head of the response.
func Send(request *Request) (*Response, error) { return sender(request) }

// Get sends a GET request.
func Get(url string, headers ...Header) (*Response, error) {
	return Send(&Request{Method: "GET", URL: url, Headers: headers})
}
