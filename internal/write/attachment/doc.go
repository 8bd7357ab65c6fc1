// Package attachment finds the contents of attachments and images for download, and stores
// uploaded bytes.
//
//	Find --> File --> Open --> bytes
//	ToChange --> Upload --> blob.Ref, which a write of the asset then sets
//
// If a member may not see an asset, the answer is the same as if the asset did not exist.
//
// Spec: interface 4.13.
package attachment
