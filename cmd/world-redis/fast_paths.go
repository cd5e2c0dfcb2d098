package main

import (
	"fmt"
	"slices"
	"strings"
)

// fastPath is a cheaper way to get the same result as the plain path (docs/fast-paths.md).
type fastPath string

// The fast paths of the service and of the client, which share the setting.
const (
	pipelines   fastPath = "pipeline"
	preload     fastPath = "preload"
	anticipate  fastPath = "anticipate" // the client's
	bundles     fastPath = "bundles"
	callSockets fastPath = "socket"
	fanIn       fastPath = "fan-in"       // the client's
	requestBody fastPath = "request-body" // the client's
	quietConns  fastPath = "quiet"
)

var allFastPaths = []fastPath{pipelines, preload, anticipate, bundles, callSockets, fanIn, requestBody, quietConns}

// fastPaths are the enabled ones.
type fastPaths []fastPath

func (f fastPaths) has(p fastPath) bool { return slices.Contains(f, p) }

// parseFastPaths reads WORKFLOW_WORLD_FAST_PATHS. Empty means all, like an unset variable.
func parseFastPaths(text string) (fastPaths, error) {
	switch strings.TrimSpace(text) {
	case "", "all":
		return allFastPaths, nil
	case "none":
		return nil, nil
	}
	var on fastPaths
	for _, name := range splitList(text, ",") {
		if !slices.Contains(allFastPaths, fastPath(name)) {
			return nil, fmt.Errorf("WORKFLOW_WORLD_FAST_PATHS names %q, which is not a fast path: use all, none, or a list of %s", name, fastPathNames())
		}
		on = append(on, fastPath(name))
	}
	return on, nil
}

func fastPathNames() string {
	names := make([]string, len(allFastPaths))
	for i, p := range allFastPaths {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
