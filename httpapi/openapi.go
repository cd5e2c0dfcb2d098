package httpapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// openAPIJSON converts the document once, at the start.
func openAPIJSON() ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(openAPIYAML, &document); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	out, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return out, nil
}

func (s *Server) serveOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, typeJSON, s.openapi)
}
