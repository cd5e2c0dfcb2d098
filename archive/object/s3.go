package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"
)

const (
	// partBytes is the size of the parts of an object that does not fit into one, and what is in memory of each object.
	partBytes = 16 << 20
	// putsAtOnce is how many objects are stored at a time. Each may hold a part.
	putsAtOnce = 8
)

// s3 is a bucket of S3, or of a service that speaks its protocol.
type s3 struct {
	client *minio.Client
	idle   func() // closes idle connections
	bucket string
	prefix string // without slashes around it; may be empty
}

// OpenS3 returns the archive in a bucket, given as s3://bucket/prefix?endpoint=…&region=…. The endpoint is that of AWS if there is
// none; with http:// it is called without TLS. The credentials are those of the environment, of ~/.aws/credentials, or of the machine's
// role; user:password@ before the bucket takes precedence.
func OpenS3(address string, o Options) (*Archive, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, errors.New("the address of the archive is not one of S3: use s3://bucket/prefix?endpoint=https://host&region=name")
	}
	query := u.Query()
	for key := range query {
		if key != "endpoint" && key != "region" {
			return nil, fmt.Errorf("the address of the archive has an unknown parameter %.40q: S3 has endpoint and region", key)
		}
	}
	endpoint, secure := query.Get("endpoint"), true
	if rest, plain := strings.CutPrefix(endpoint, "http://"); plain {
		endpoint, secure = rest, false
	}
	endpoint = strings.TrimSuffix(strings.TrimPrefix(endpoint, "https://"), "/")
	if endpoint == "" {
		endpoint = "s3.amazonaws.com"
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint, &minio.Options{Secure: secure, Region: query.Get("region"), Creds: credentialsOf(u), Transport: transport})
	if err != nil {
		return nil, fmt.Errorf("the address of the archive cannot be used: %w", err)
	}
	return newArchive(&s3{client: client, idle: transport.CloseIdleConnections, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}, o), nil
}

func credentialsOf(u *url.URL) *credentials.Credentials {
	if password, ok := u.User.Password(); ok {
		return credentials.NewStaticV4(u.User.Username(), password, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
}

// key is the name of an object in the bucket.
func (b *s3) key(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

func (b *s3) where(name string) string { return "object s3://" + b.bucket + "/" + b.key(name) }

func (b *s3) close() error {
	b.idle()
	return nil
}

func (b *s3) put(ctx context.Context, objects []object) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(putsAtOnce)
	for _, o := range objects {
		g.Go(func() error { return b.putOne(ctx, o) })
	}
	return g.Wait()
}

// putOne stores an object: in one request if it fits into a part, otherwise in parts, which S3 joins when the last is there.
func (b *s3) putOne(ctx context.Context, o object) error {
	in, out := io.Pipe()
	go func() { out.CloseWithError(o.write(out)) }()
	defer in.Close() //nolint:errcheck // it ends the writer
	var first bytes.Buffer
	n, err := first.ReadFrom(io.LimitReader(in, partBytes))
	if err != nil {
		return err // of the copy
	}
	body, size := io.Reader(&first), n
	if n == partBytes {
		body, size = io.MultiReader(&first, in), -1
	}
	_, err = b.client.PutObject(ctx, b.bucket, b.key(o.name), body, size, minio.PutObjectOptions{
		PartSize: partBytes, ContentType: "application/gzip", SendContentMd5: true, DisableContentSha256: true, // a form of the body that all services know
	})
	return b.fault(err)
}

func (b *s3) open(ctx context.Context, name string) (io.ReadCloser, error) {
	in, err := b.client.GetObject(ctx, b.bucket, b.key(name), minio.GetObjectOptions{})
	if err == nil {
		_, err = in.Stat() // the request is made at the first use
	}
	if err == nil {
		return in, nil
	}
	if in != nil {
		_ = in.Close() // nothing was written
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, errNoObject
	}
	return nil, b.fault(err)
}

func (b *s3) list(ctx context.Context, folder string) (folders, objects []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	prefix := b.key(folder) + "/"
	for info := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if info.Err != nil {
			return nil, nil, b.fault(info.Err)
		}
		name, isFolder := strings.CutSuffix(strings.TrimPrefix(info.Key, prefix), "/")
		if isFolder {
			folders = append(folders, name)
		} else {
			objects = append(objects, name)
		}
	}
	slices.Sort(folders)
	slices.Sort(objects)
	return folders, objects, nil
}

func (b *s3) remove(ctx context.Context, name string) error {
	return b.fault(b.client.RemoveObject(ctx, b.bucket, b.key(name), minio.RemoveObjectOptions{}))
}

func (b *s3) check(ctx context.Context) error {
	o := object{name: "check", write: func(w io.Writer) error {
		_, err := io.WriteString(w, "world-redis")
		return err
	}}
	if err := b.put(ctx, []object{o}); err != nil {
		return err
	}
	in, err := b.open(ctx, o.name)
	if err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	return b.remove(ctx, o.name)
}

// fault says in a sentence what is wrong with the bucket, if that is known.
func (b *s3) fault(err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == minio.NoSuchBucket:
		return fmt.Errorf("the bucket %s of the archive does not exist: create it, or correct WORKFLOW_WORLD_ARCHIVE: %w", b.bucket, err)
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the bucket %s of the archive refuses these credentials: they need the rights to put, get, list and delete objects: %w", b.bucket, err)
	case answer.StatusCode == 0 && answer.Code == "" || answer.StatusCode >= 500:
		return fmt.Errorf("the archive s3://%s does not answer: %w", b.bucket, err)
	}
	return err
}
