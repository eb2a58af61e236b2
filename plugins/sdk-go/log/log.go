// Package log writes structured log lines, which the host records with the provider and the call.
package log

import "fmt"

// Level is the severity of a log line.
type Level uint8

const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Field is a named value of a log line.
type Field struct{ Name, Value string }

// Sink receives log lines. In a component, it is the host; tests set another one.
type Sink struct {
	Enabled func(Level) bool
	Write   func(Level, string, []Field)
}

var sink Sink

// SetSink sets the receiver of log lines.
func SetSink(next Sink) { sink = next }

func Trace(message string, fields ...any) { write(LevelTrace, message, fields) }
func Debug(message string, fields ...any) { write(LevelDebug, message, fields) }

// Info writes a line. The fields are names and values in turns.
func Info(message string, fields ...any)  { write(LevelInfo, message, fields) }
func Warn(message string, fields ...any)  { write(LevelWarn, message, fields) }
func Error(message string, fields ...any) { write(LevelError, message, fields) }

func write(level Level, message string, fields []any) {
	if sink.Write == nil || !sink.Enabled(level) {
		return
	}
	var all []Field
	for index := 0; index+1 < len(fields); index += 2 {
		all = append(all, Field{fmt.Sprint(fields[index]), fmt.Sprint(fields[index+1])})
	}
	sink.Write(level, message, all)
}
