package archive

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/object"
	"github.com/world-redis/world-redis/archive/postgres"
)

// Options say who uses an archive.
type Options struct {
	Namespace string // prefix of its keys in Redis: several namespaces may share an archive
	Service   string // version of this build, for the headers of files
	Logger    *slog.Logger
}

// Open opens an archive: postgres://…, file:///folder or s3://bucket/prefix?….
func Open(ctx context.Context, address string, o Options) (world.Archive, error) {
	scheme, _, _ := strings.Cut(address, ":")
	files := object.Options{Folder: folderOf(o.Namespace), Service: o.Service}
	switch scheme {
	case "postgres", "postgresql":
		return postgres.Open(ctx, address, postgres.Options{Namespace: o.Namespace, Logger: o.Logger})
	case "file":
		return object.OpenFolder(address, files)
	case "s3":
		return object.OpenS3(address, files)
	}
	return nil, fmt.Errorf("an archive of the kind %.20q is not known: use postgres://…, file:///folder or s3://bucket/prefix", scheme)
}

// folderOf makes the name of a folder from a prefix: colons become dots, and what a name may not have becomes =xx.
func folderOf(namespace string) string {
	var out strings.Builder
	for i := range len(namespace) {
		switch c := namespace[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			out.WriteByte(c)
		case c == ':':
			out.WriteByte('.')
		default:
			fmt.Fprintf(&out, "=%02x", c)
		}
	}
	if name := strings.TrimRight(out.String(), "."); name != "" {
		return name
	}
	return "=" // a prefix of colons alone
}
