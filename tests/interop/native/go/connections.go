package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"time"
)

// timeout is the time until a server must respond.
const timeout = time.Minute

// connection is a connection that is used `messages` times, with `pause` seconds between the messages. It
// is closed before the object has been created.
var connection = resourceType{
	attributes: map[string]attribute{
		"protocol": {kind: `"string"`},
		"host":     {kind: `"string"`},
		"port":     {kind: `"number"`},
		"messages": {kind: `"number"`},
		"pause":    {kind: `"number"`},
		"result":   {kind: `"string"`, computed: true},
	},
	create: func(values object) (object, error) {
		if values["protocol"] != "tcp" {
			return nil, fmt.Errorf("the protocol must be tcp")
		}
		address := net.JoinHostPort(values["host"].(string), fmt.Sprint(integer(values["port"])))
		connected, err := net.DialTimeout("tcp", address, timeout)
		if err != nil {
			return nil, err
		}
		defer connected.Close()
		responses := bufio.NewReader(connected)
		for number := 0; number < integer(values["messages"]); number++ {
			if number > 0 {
				time.Sleep(time.Duration(integer(values["pause"])) * time.Second)
			}
			message := fmt.Sprintf("message %d\n", number)
			if err := connected.SetDeadline(time.Now().Add(timeout)); err != nil {
				return nil, err
			}
			if _, err := connected.Write([]byte(message)); err != nil {
				return nil, err
			}
			response, err := responses.ReadString('\n')
			if err != nil {
				return nil, err
			}
			if response != message {
				return nil, fmt.Errorf("the server did not return %q", message)
			}
		}
		result, err := json.Marshal(map[string]int{"exchanged": integer(values["messages"])})
		return object{"result": string(result)}, err
	},
	read:   func(values object) (object, error) { return values, nil },
	delete: func(object) error { return nil },
}

// integer converts an integer, which MessagePack encodes in the smallest type.
func integer(value interface{}) int {
	number := reflect.ValueOf(value)
	if number.CanUint() {
		return int(number.Uint())
	}
	return int(number.Int())
}
