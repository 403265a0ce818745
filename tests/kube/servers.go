//go:build servers

// Package servers names the programs of Kubernetes that `make test-kube` runs, so that go.mod holds what they are built from.
package servers

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
