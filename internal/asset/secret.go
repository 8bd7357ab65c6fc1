package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/meta"
)

// secretNames are the attributes of which only a hash is kept.
func secretNames(m *meta.Model) map[string]bool {
	names := map[string]bool{}
	for _, t := range m.Types {
		for _, a := range t.Attrs {
			if a.Place.Kind == meta.Secret {
				names[a.Name] = true
			}
		}
	}
	return names
}

// IsSecret reports whether of an attribute with this name only a hash is kept.
func (e *Engine) IsSecret(attr string) bool { return e.secrets[attr] }

// Seal returns what is to be kept of a value for an attribute, for
// Change.Sealed, when the attribute is a secret. Making it takes long, so it is
// called before Write, which holds locks. What is no good as a secret is not
// sealed: the command that says it will fail.
// Errors: fault.Transient when ctx ends.
func (e *Engine) Seal(ctx context.Context, attr string, v Value) (string, error) {
	if e.creds == nil || !e.secrets[attr] || v.isEmpty() {
		return "", nil
	}
	sealed, err := e.creds.Seal(ctx, v.Text)
	if isCommands(err) {
		return "", nil
	}
	return sealed, err
}

// secret changes a secret. It is sealed here only if that was not done before.
func (r *run) secret(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if !ok || written.isEmpty() {
		return invalid(a)
	}
	sealed := ch.Sealed
	if sealed == "" && r.e.creds != nil {
		var err error
		if sealed, err = r.e.creds.Seal(ctx, written.Text); err != nil {
			return err
		}
	}
	r.changes.logins = append(r.changes.logins, login{member: w.id, typ: w.typ.Name, password: &sealed})
	w.dirty, w.forced = true, true
	return nil
}
