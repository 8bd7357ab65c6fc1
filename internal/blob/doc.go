// Package blob keeps the contents of attachments and images: bytes by their
// hash, in parts, outside of the versions of assets.
//
//	Upload --> Ref --> Keep, in the transaction of the asset's version
//	Ref --> Open --> Reader
//
// A version holds a Ref in the place of the bytes. The same bytes are stored
// once. A content that no version has come to hold within Grace is removed by
// Sweep; one that a version holds stays for ever, as versions do.
//
// The rows of blob_content say which contents there are. Their bytes are rows
// of blob_part, or objects of a Bucket. A row without a hash is an upload that
// has not ended, or a content that is being removed: nobody finds it.
package blob
