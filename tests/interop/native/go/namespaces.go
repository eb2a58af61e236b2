package main

import (
	"context"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

var namespace = resourceType{
	attributes: map[string]attribute{
		"kubeconfig": {kind: `"string"`},
		"context":    {kind: `"string"`},
		"name":       {kind: `"string"`},
		"labels":     {kind: `["map","string"]`, optional: true},
		"uid":        {kind: `"string"`, computed: true},
	},
	create: func(values object) (object, error) {
		namespaces, err := api(values)
		if err != nil {
			return nil, err
		}
		wanted := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: values["name"].(string)}}
		if labels, ok := values["labels"].(map[string]interface{}); ok {
			wanted.Labels = map[string]string{}
			for name, value := range labels {
				wanted.Labels[name] = value.(string)
			}
		}
		created, err := namespaces.Create(context.Background(), wanted, meta.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return object{"uid": string(created.UID)}, nil
	},
	read: func(values object) (object, error) {
		namespaces, err := api(values)
		if err != nil {
			return nil, err
		}
		found, err := namespaces.Get(context.Background(), values["name"].(string), meta.GetOptions{})
		if errors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		values["uid"] = string(found.UID)
		values["labels"] = nil
		if found.Labels != nil {
			values["labels"] = found.Labels
		}
		return values, nil
	},
	delete: func(values object) error {
		namespaces, err := api(values)
		if err != nil {
			return err
		}
		return namespaces.Delete(context.Background(), values["name"].(string), meta.DeleteOptions{})
	},
}

func api(values object) (typed.NamespaceInterface, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: values["kubeconfig"].(string)}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: values["context"].(string)}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = timeout
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return clients.CoreV1().Namespaces(), nil
}
