// Package blob keeps the contents of attachments and images. Contents are identified by their
// hash and stored in parts, outside of the versions of assets.
//
//	Upload --> Ref --> Keep, in the transaction of the asset's version
//	Ref --> Open --> Reader
//
// A version has a Ref instead of the bytes. The same bytes are stored once. Sweep removes a content
// if no version refers to it within the time Grace. If a version refers to a content, the content
// is kept as long as the version.
//
// The rows of blob_content list the contents. Their bytes are rows of blob_part, or objects of a
// Bucket. A row without a hash is an unfinished upload, or a content that is being removed. Reads
// do not find such a row.
package blob
