package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// openAPIJSON is openapi.yaml as JSON. People edit the YAML; `make openapi` writes the JSON.
//
//go:embed openapi.json
var openAPIJSON []byte

func (s *Server) serveOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, input.TypeJSON, openAPIJSON)
}
