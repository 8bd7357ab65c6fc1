// Package attachment finds the contents of attachments and images for download, and stores
// uploaded bytes.
//
//	Find --> File --> Open --> bytes
//	ToChange --> Upload --> blob.Ref, which a write of the asset then sets
//
// An asset that a member does not see is not found, as if it did not exist.
//
// Spec: interface 4.13.
package attachment
