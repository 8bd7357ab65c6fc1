package pages

import "github.com/alds-dev/alds/internal/oid"

func (v *visit) assetHistory(o oid.OID) error  { return notFound() }
func (v *visit) assetActivity(o oid.OID) error { return notFound() }
func (v *visit) editForm(o oid.OID) error      { return notFound() }
func editAsset(v *visit) error                 { return notFound() }
func attachToAsset(v *visit) error             { return notFound() }
func operateOnAsset(v *visit) error            { return notFound() }
