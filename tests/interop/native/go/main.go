// A provider with the same resource types as provider.py, built on HashiCorp's go-plugin and Kubernetes'
// client-go.
package main

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"interop/tfplugin"
)

type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
}

func (grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	tfplugin.RegisterProviderServer(server, &provider{types: map[string]resourceType{
		"peers_namespace":  namespace,
		"peers_connection": connection,
	}})
	return nil
}

func (grpcPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (interface{}, error) {
	return nil, errors.New("this program is not a host of plugins")
}

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{6: {"provider": grpcPlugin{}}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}
