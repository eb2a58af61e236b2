//go:build wasip1

// Package component exports a provider from a component.
package component

import (
	"errors"
	"io"
	"time"

	sdk "wardian.dev/sdk-go"
	"wardian.dev/sdk-go/bindings"
	"wardian.dev/sdk-go/http"
	"wardian.dev/sdk-go/log"
	"wardian.dev/sdk-go/run"
	"wardian.dev/sdk-go/shared"
)

// Export sets the provider of the component. Call it from a function init of package main.
func Export(provider sdk.Provider) {
	service := sdk.NewService(provider, record)
	bindings.ExportProviderBase(service)
	bindings.ExportEphemeralResources(service)
	bindings.ExportProviderFunctions(service)
	http.SetSender(send)
	shared.SetHost(hostMemory{})
	run.SetHost(run.Host{
		Interrupted: bindings.RunInterrupted,
		Sleep: func(duration time.Duration) bool {
			// Rounded up: a wait is never shorter than requested.
			return bindings.RunSleep(uint64(max(0, (duration + time.Millisecond - 1).Milliseconds())))
		},
	})
	log.SetSink(log.Sink{
		Enabled: func(level log.Level) bool { return bindings.LogEnabled(bindings.LogLevel(level)) },
		Write: func(level log.Level, message string, fields []log.Field) {
			pairs := make([]bindings.Pair[string, string], len(fields))
			for index, field := range fields {
				pairs[index] = bindings.Pair[string, string]{First: field.Name, Second: field.Value}
			}
			bindings.LogWrite(bindings.LogLevel(level), "", message, pairs)
		},
	})
}

func record(state, private []byte) error {
	failure := bindings.RunRecordState(bindings.RunRecordedState{State: state, Private: private})
	switch {
	// If the host keeps no state for this call, the state is in the response.
	case failure == nil || failure.Tag == bindings.RunRecordErrorUnavailable:
		return nil
	case failure.Tag == bindings.RunRecordErrorInvalid:
		return errors.New("the state could not be recorded: " + failure.Invalid)
	}
	return errors.New("the state could not be recorded: " + failure.Failed)
}

func send(request *http.Request) (*http.Response, error) {
	head := bindings.HTTPRequestHead{
		Method: request.Method, URL: request.URL, EndsOnInterrupt: request.EndsOnInterrupt(),
		Timeouts: bindings.HTTPTimeouts{
			Connect:      milliseconds(request.ConnectTimeout),
			FirstByte:    milliseconds(request.FirstByteTimeout),
			BetweenBytes: milliseconds(request.BetweenBytesTimeout),
		},
	}
	for _, header := range request.Headers {
		head.Headers = append(head.Headers, bindings.Pair[string, []byte]{First: header.Name, Second: []byte(header.Value)})
	}
	answer, failure := bindings.HTTPSend(bindings.HTTPRequest{Head: head, Body: request.Body})
	if failure != nil {
		return nil, httpError(failure)
	}
	response := &http.Response{Status: int(answer.Status), Body: &body{stream: answer.Body}}
	for _, header := range answer.Headers {
		response.Headers = append(response.Headers, http.Header{Name: header.First, Value: string(header.Second)})
	}
	return response, nil
}

func milliseconds(duration time.Duration) *uint64 {
	if duration <= 0 {
		return nil
	}
	value := uint64(max(1, duration.Milliseconds()))
	return &value
}

// body reads a response body.
type body struct{ stream *bindings.HTTPResponseBody }

func (b *body) Read(buffer []byte) (int, error) {
	if b.stream == nil {
		return 0, io.EOF
	}
	if len(buffer) == 0 {
		return 0, nil
	}
	part, failure := b.stream.Read(uint32(min(len(buffer), 1<<20)))
	if failure != nil {
		return 0, httpError(failure)
	}
	if len(part) == 0 {
		b.stream.Close()
		b.stream = nil
		return 0, io.EOF
	}
	return copy(buffer, part), nil
}

func (b *body) Close() error {
	if b.stream != nil {
		b.stream.Close()
		b.stream = nil
	}
	return nil
}

func httpError(failure *bindings.HTTPError) error {
	switch failure.Tag {
	case bindings.HTTPErrorDenied:
		return &http.Error{Reason: http.Denied, Message: "the policy denies the request"}
	case bindings.HTTPErrorInvalid:
		return &http.Error{Reason: http.Invalid, Message: failure.Invalid}
	case bindings.HTTPErrorTimedOut:
		return &http.Error{Reason: http.TimedOut, Message: failure.TimedOut}
	case bindings.HTTPErrorTooLarge:
		return &http.Error{Reason: http.TooLarge}
	case bindings.HTTPErrorInterrupted:
		return &http.Error{Reason: http.Interrupted}
	}
	return &http.Error{Reason: http.Failed, Message: failure.Failed}
}
