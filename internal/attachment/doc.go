// Package attachment finds the contents of attachments and images for those who ask
// for their bytes, and stores bytes for those who send them.
//
//	Find --> File --> Open --> bytes
//	ToChange --> Upload --> blob.Ref, which a write of the asset then sets
//
// What a member does not see is not found, as if there were no such asset.
//
// Spec: interface 4.13.
package attachment
