// Package check tests what is deployed: the Helm chart as Kubernetes' own types read it, and the Compose file as Compose
// reads it. It is a module of its own, so that the service does not depend on either. `make lint-deploy` runs it.
package check
