package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3 stores objects in a bucket of S3, or of a compatible service.
type s3 struct {
	core   minio.Core
	bucket string
	prefix string
}

// defaultEndpoint is the service for a bucket URL without an endpoint.
const defaultEndpoint = "https://s3.amazonaws.com"

// s3Timeout is how long a bucket may take to begin its answer.
const s3Timeout = 30 * time.Second

// openS3 opens a bucket without sending a request.
//
//	s3://bucket?endpoint=https://host:9000&region=eu-central-1&prefix=alds/
//
// Its credentials come from the environment variables AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, from the file in AWS_SHARED_CREDENTIALS_FILE, or from the role of
// the machine.
func openS3(u *url.URL) (Bucket, error) {
	given := u.Query()
	for name := range given {
		if name != "endpoint" && name != "region" && name != "prefix" {
			return nil, fmt.Errorf("unknown parameter %q of the store; it has endpoint, region and prefix", name)
		}
	}
	endpoint := given.Get("endpoint")
	if endpoint == "" {
		endpoint = defaultEndpoint
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" {
		return nil, errors.New("the endpoint of the store must have the form https://host or http://host")
	}
	transport, err := minio.DefaultTransport(e.Scheme == "https")
	if err != nil {
		return nil, fmt.Errorf("make the transport of the store: %w", err)
	}
	transport.ResponseHeaderTimeout = s3Timeout
	core, err := minio.NewCore(e.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: s3Timeout}},
		}),
		Secure: e.Scheme == "https", Region: given.Get("region"), Transport: transport, MaxRetries: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return &s3{core: *core, bucket: u.Host, prefix: given.Get("prefix")}, nil
}

// key returns the name of an object in the bucket.
func (b *s3) key(key string) string { return b.prefix + key }

// Put sends an object of known size as a stream, and an object of unknown size in parts.
func (b *s3) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if size < 0 {
		return b.putParts(ctx, b.key(key), src)
	}
	_, err := b.core.PutObject(ctx, b.bucket, b.key(key), src, size, "", "", minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return err
}

// putParts sends an object in parts. It has one part in memory at a time. The object exists once
// all parts have arrived.
func (b *s3) putParts(ctx context.Context, key string, src io.Reader) (err error) {
	buf := make([]byte, objectPart)
	n, err := io.ReadFull(src, buf)
	if err != nil {
		if !ended(err) {
			return err
		}
		_, err = b.core.PutObject(ctx, b.bucket, key, bytes.NewReader(buf[:n]), int64(n), "", "", minio.PutObjectOptions{})
		return err
	}
	id, err := b.core.NewMultipartUpload(ctx, b.bucket, key, minio.PutObjectOptions{})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
			defer cancel()
			err = errors.Join(err, b.core.AbortMultipartUpload(ctx, b.bucket, key, id))
		}
	}()
	var parts []minio.CompletePart
	for n > 0 {
		sum := sha256.Sum256(buf[:n])
		part, err := b.core.PutObjectPart(ctx, b.bucket, key, id, len(parts)+1, bytes.NewReader(buf[:n]), int64(n),
			minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true}) // the signature has the hash of the part
		if err != nil {
			return err
		}
		parts = append(parts, minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
		if n, err = io.ReadFull(src, buf); err != nil && !ended(err) {
			return err
		}
	}
	_, err = b.core.CompleteMultipartUpload(ctx, b.bucket, key, id, parts, minio.PutObjectOptions{})
	return err
}

// Open requests a range of an object.
func (b *s3) Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(from, from+n-1); err != nil {
		return nil, err
	}
	body, _, _, err := b.core.GetObject(ctx, b.bucket, b.key(key), o)
	return body, err
}

// Remove removes an object, and the parts of an incomplete upload.
func (b *s3) Remove(ctx context.Context, key string) error {
	if err := b.core.RemoveObject(ctx, b.bucket, b.key(key), minio.RemoveObjectOptions{}); err != nil {
		return err
	}
	err := b.core.RemoveIncompleteUpload(ctx, b.bucket, b.key(key))
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		return nil
	}
	return err
}

// Ping returns an error if the bucket does not exist.
func (b *s3) Ping(ctx context.Context) error {
	there, err := b.core.BucketExists(ctx, b.bucket)
	if err == nil && !there {
		err = errors.New("the bucket does not exist")
	}
	return err
}
