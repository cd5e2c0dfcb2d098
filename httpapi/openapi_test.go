package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// openAPIOperations reads "METHOD path" → operation from the served document.
func openAPIOperations(t *testing.T) (document m, operations map[string]m) {
	t.Helper()
	w := call{method: http.MethodGet, target: "/openapi.json"}.do(t, newServer(t, newFakes(t)))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, input.TypeJSON, w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	operations = make(map[string]m)
	paths, ok := document["paths"].(m)
	require.True(t, ok)
	for path, item := range paths {
		byMethod, ok := item.(m)
		require.True(t, ok, path)
		for method, operation := range byMethod {
			if method == "parameters" {
				continue
			}
			op, ok := operation.(m)
			require.True(t, ok, path)
			operations[strings.ToUpper(method)+" "+path] = op
		}
	}
	return document, operations
}

var writeOpenAPI = flag.Bool("openapi.write", false, "write openapi.json from openapi.yaml")

// openapi.json is openapi.yaml. A comma in a flow mapping that is not quoted would begin another field, which has no value.
func TestOpenAPIJSONIsTheYAML(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	var document m
	require.NoError(t, yaml.Unmarshal(source, &document))
	noNulls(t, "", document)
	var want bytes.Buffer
	out := json.NewEncoder(&want)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	require.NoError(t, out.Encode(document))
	if *writeOpenAPI {
		require.NoError(t, os.WriteFile("openapi.json", want.Bytes(), 0o600))
		return
	}
	require.Equal(t, want.String(), string(openAPIJSON), "run make openapi")
}

func noNulls(t *testing.T, at string, value any) {
	t.Helper()
	switch value := value.(type) {
	case m:
		for name, field := range value {
			noNulls(t, at+"/"+name, field)
		}
	case []any:
		for _, entry := range value {
			noNulls(t, at, entry)
		}
	default:
		require.NotNil(t, value, at)
	}
}

// The document and the route table have the same routes, in both directions.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	_, operations := openAPIOperations(t)
	var documented, served []string
	for route := range operations {
		documented = append(documented, route)
	}
	for _, r := range newServer(t, newFakes(t)).routes {
		served = append(served, r.method+" "+r.path)
	}
	require.ElementsMatch(t, served, documented)
}

func TestOpenAPIOperationsAreComplete(t *testing.T) {
	t.Parallel()
	document, operations := openAPIOperations(t)
	require.Equal(t, "3.1.0", document["openapi"])
	open := make(map[string]bool)
	for _, r := range newServer(t, newFakes(t)).routes {
		open[r.method+" "+r.path] = r.open
	}
	for route, op := range operations {
		require.NotEmpty(t, op["summary"], route)
		require.NotEmpty(t, op["responses"], route)
		require.NotEmpty(t, op["tags"], route)
		_, declaredOpen := op["security"]
		require.Equal(t, open[route], declaredOpen, route+" and its token")
		_, path, _ := strings.Cut(route, " ")
		require.ElementsMatch(t, templateNames(path), pathParameters(t, document, path, op), route)
	}
}

// Every reference in the document resolves.
func TestOpenAPIReferencesResolve(t *testing.T) {
	t.Parallel()
	document, _ := openAPIOperations(t)
	var walk func(node any)
	walk = func(node any) {
		switch v := node.(type) {
		case m:
			if ref, ok := v["$ref"].(string); ok {
				require.NotNil(t, resolve(document, ref), ref)
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(document)
}

// The document has all statuses of the error table, and all event types.
func TestOpenAPINamesTheErrors(t *testing.T) {
	t.Parallel()
	document, _ := openAPIOperations(t)
	response, ok := resolve(document, "#/components/responses/error").(m)
	require.True(t, ok)
	text, ok := response["description"].(string)
	require.True(t, ok)
	for _, status := range []string{"400", "401", "403", "404", "405", "409", "410", "412", "413", "415", "422", "425", "429", "500", "503"} {
		require.Contains(t, text, status)
	}
}

func resolve(document m, ref string) any {
	var node any = document
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		inner, ok := node.(m)
		if !ok {
			return nil
		}
		node = inner[part]
	}
	return node
}

func templateNames(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// pathParameters are the declared ones, of the operation and of its path.
func pathParameters(t *testing.T, document m, path string, op m) []string {
	t.Helper()
	paths, _ := document["paths"].(m)
	item, _ := paths[path].(m)
	fromPath, _ := item["parameters"].([]any)
	fromOp, _ := op["parameters"].([]any)
	var names []string
	for _, p := range slices.Concat(fromPath, fromOp) {
		parameter, ok := p.(m)
		require.True(t, ok)
		if ref, ok := parameter["$ref"].(string); ok {
			parameter, ok = resolve(document, ref).(m)
			require.True(t, ok, ref)
		}
		if parameter["in"] == "path" {
			name, ok := parameter["name"].(string)
			require.True(t, ok)
			names = append(names, name)
		}
	}
	return names
}
