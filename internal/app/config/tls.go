package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/tlsmode"
)

// impliedTLS returns the TLS mode that the scheme of an address implies; empty: none.
func impliedTLS(u *url.URL) string {
	if strings.HasPrefix(u.Scheme, "rediss") {
		return tlsmode.Verify
	}
	return ""
}

// required is the mode that most clients call required. With a file of CA certificates, the
// server's certificate is verified; without such a file, any certificate is accepted.
const required = "required"

// strength lists the modes from the weakest to the strongest. If several parameters set a mode,
// the strongest mode is used.
var strength = []string{"", tlsmode.Off, tlsmode.Preferred, required, tlsmode.SkipVerify, tlsmode.VerifyCA, tlsmode.Verify}

// tlsParameters maps the TLS parameters of other clients to the meaning of their values. Names
// and values are in lower case, without "-", "_" and spaces.
var tlsParameters = map[string]map[string]string{
	"sslmode": { // MySQL, MariaDB, libpq
		"disabled": tlsmode.Off, "disable": tlsmode.Off,
		"preferred": tlsmode.Preferred, "prefer": tlsmode.Preferred, "allow": tlsmode.Preferred,
		"required": required, "require": required, "trust": tlsmode.SkipVerify,
		"verifyca": tlsmode.VerifyCA, "verifyidentity": tlsmode.Verify, "verifyfull": tlsmode.Verify,
	},
	"usessl":                  {"true": required, "false": tlsmode.Off}, // Connector/J
	"requiressl":              {"true": required, "false": ""},
	"verifyservercertificate": {"true": tlsmode.VerifyCA, "false": ""},
	"ssl": { // Node
		"true": tlsmode.Verify, "1": tlsmode.Verify, "false": tlsmode.Off, "0": tlsmode.Off,
		`{"rejectunauthorized":true}`: tlsmode.Verify, `{"rejectunauthorized":false}`: tlsmode.SkipVerify,
	},
	"sslverify": {"true": tlsmode.Verify, "false": ""},                                // Ruby
	"sslaccept": {"strict": tlsmode.Verify, "acceptinvalidcerts": tlsmode.SkipVerify}, // Prisma
	"sslcertreqs": { // Python
		"none": tlsmode.SkipVerify, "certnone": tlsmode.SkipVerify,
		"required": tlsmode.Verify, "certrequired": tlsmode.Verify,
		"optional": tlsmode.Verify, "certoptional": tlsmode.Verify,
	},
}

// caParameters are the parameters of other clients for a file with CA certificates. The names
// are in lower case, without "-", "_" and spaces.
var caParameters = []string{"sslca", "sslrootcert", "sslcacerts"}

var withoutDashes = strings.NewReplacer("-", "", "_", "", " ", "")

// tlsWishes has the TLS parameters of an address.
type tlsWishes struct {
	own    string // the parameter tls
	others string // the strongest mode of the parameters of other clients
	ca     string // file with CA certificates
}

// takeTLS reads the TLS parameters and removes them from all. A parameter of another client has
// the same meaning as in that client.
func (r *reader) takeTLS(s server, all url.Values) (t tlsWishes) {
	if all.Has("tls") {
		t.own = all.Get("tls")
		all.Del("tls")
	}
	if ca := all.Get("tls-ca"); ca != "" {
		t.ca, t.others = ca, tlsmode.Verify
		all.Del("tls-ca")
	}
	for key, values := range all {
		form := withoutDashes.Replace(strings.ToLower(key))
		if slices.Contains(caParameters, form) && values[0] != "" {
			t.ca, t.others = values[0], stronger(t.others, tlsmode.VerifyCA)
			delete(all, key)
		}
		meanings, ok := tlsParameters[form]
		if !ok {
			continue
		}
		meaning, ok := meanings[withoutDashes.Replace(strings.ToLower(values[0]))]
		if !ok {
			r.problem(s.setting, "has a parameter %s with a value that is not understood; write tls= instead, with one of %s", key, strings.Join(s.modes, ", "))
		}
		t.others = stronger(t.others, meaning)
		delete(all, key)
	}
	return t
}

func stronger(a, b string) string {
	if slices.Index(strength, a) > slices.Index(strength, b) {
		return a
	}
	return b
}

// resolve returns the TLS mode and the file with CA certificates. The mode comes from the first of
// these that is set: the TLS setting of the server, the parameter tls of its address, a TLS
// parameter of another client library in the address, and the argument implied. The file comes from
// the address, or else from the setting of the server.
func (t tlsWishes) resolve(s server, implied string) (mode, ca string) {
	if ca = t.ca; ca == "" {
		ca = s.ca
	}
	switch {
	case s.tls != "":
		mode = s.tls
	case t.own != "":
		mode = t.own
	case t.others == required && ca != "":
		mode = tlsmode.VerifyCA
	case t.others == required:
		mode = tlsmode.SkipVerify
	case t.others != "":
		mode = t.others
	default:
		mode = implied
	}
	return mode, ca
}
