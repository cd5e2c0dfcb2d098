package main

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// compressor is a compressing proxy, as many are deployed in front of services.
type compressor struct{ next http.Handler }

func (c *compressor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &compressed{ResponseWriter: w}
	c.next.ServeHTTP(out, r)
	if out.gzip != nil {
		_ = out.gzip.Close()
	}
}

type compressed struct {
	http.ResponseWriter
	gzip *gzip.Writer
}

func (c *compressed) WriteHeader(status int) {
	if !strings.Contains(c.Header().Get("Cache-Control"), "no-transform") {
		c.Header().Set("Content-Encoding", "gzip")
		c.Header().Del("Content-Length")
		c.gzip = gzip.NewWriter(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressed) Write(p []byte) (int, error) {
	if c.gzip != nil {
		return c.gzip.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

func (c *compressed) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }
