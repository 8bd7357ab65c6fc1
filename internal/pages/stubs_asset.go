package pages

import "github.com/alds-dev/alds/internal/oid"

func (v *visit) editForm(o oid.OID) error { return notFound() }
func editAsset(v *visit) error            { return notFound() }
