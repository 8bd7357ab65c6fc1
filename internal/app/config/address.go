package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alds-dev/alds/internal/base/tlsmode"
)

// Warning reports a setting that is valid but that an operator should check.
type Warning struct {
	Text       string   // a constant phrase
	Setting    string   // name of the setting
	Parameters []string // address parameters that cause the warning; of ignored parameters only the names
}

// The texts of warnings.
const (
	warnNoGRPC     = "traces are sent by http/protobuf, not by gRPC, which has another port"
	warnIgnored    = "parameters of the address are ignored"
	warnUnverified = "the server's certificate is not verified"
)

// server has the settings of a server except its address.
type server struct {
	setting  string   // name of the setting with the address
	password string   // replaces the password in the address, unless empty
	tls      string   // replaces the TLS mode in the address, unless empty
	ca       string   // file with CA certificates; used if the address has no such file
	modes    []string // allowed TLS modes
}

func (r *reader) server(setting, prefix string, modes ...string) server {
	s := server{setting: setting, password: r.password(prefix + "_PASSWORD"), ca: r.text("ALDS_TLS_CA"), modes: modes}
	if r.text(prefix+"_TLS") != "" {
		s.tls = r.oneOf(prefix+"_TLS", modes)
	}
	return s
}

// database reads the address of the database and returns it in the form that package db reads:
// mysql://user:password@host:port/name[?tls=…&tls-ca=…] or sqlite:path.
func (r *reader) database(s server) string {
	v := r.text(s.setting)
	path, ok := strings.CutPrefix(v, sqliteScheme)
	switch {
	case v == "":
		return ""
	case !ok:
		return r.mysql(s, v)
	case strings.TrimPrefix(path, "//") == "":
		r.problem(s.setting, "names no file; want sqlite:path")
	}
	return v
}

// sqliteScheme is the start of the address of a SQLite database.
const sqliteScheme = "sqlite:"

// replicas reads the addresses of the replicas of the database. inFile is true if the database is
// SQLite, which has no replicas.
func (r *reader) replicas(s server, inFile bool) (all []string) {
	for _, v := range strings.FieldsFunc(r.text(s.setting), func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		all = append(all, r.mysql(s, v))
	}
	if len(all) > 0 && inFile {
		r.problem(s.setting, "is for MySQL and MariaDB: the database is SQLite, of which there are no replicas")
	}
	return all
}

// mysql returns the address of a MySQL or MariaDB server in the form that package db reads.
func (r *reader) mysql(s server, v string) string {
	rest, jdbc := strings.CutPrefix(v, "jdbc:")
	u, err := url.Parse(rest)
	if err != nil || !slices.Contains([]string{"mysql", "mysql2", "mariadb"}, u.Scheme) || u.Hostname() == "" || strings.Trim(u.Path, "/") == "" || splitPassword(u) {
		r.problem(s.setting, "is not mysql://user:pass@host:3306/name (or mysql2://, mariadb://, jdbc:mysql://) or sqlite:path"+escapes)
		return v
	}
	u.Scheme = "mysql"
	if jdbc {
		takeUser(u)
	}
	return r.canonical(s, u)
}

// takeUser moves the user and the password from the query of a URL, where JDBC has them, to their
// usual place in a URL.
func takeUser(u *url.URL) {
	all := u.Query()
	if u.User == nil && all.Has("user") {
		u.User = url.UserPassword(all.Get("user"), all.Get("password"))
	}
	all.Del("user")
	all.Del("password")
	u.RawQuery = all.Encode()
}

// redis reads the address of Redis and returns it in the form that package jobs reads.
func (r *reader) redis(name string) string {
	s := r.server(name, "ALDS_REDIS", tlsmode.Off, tlsmode.SkipVerify, tlsmode.VerifyCA, tlsmode.Verify)
	v := r.text(name)
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || splitPassword(u) || !slices.Contains(redisSchemes, u.Scheme) {
		r.problem(name, "is not a redis://, redis+sentinel:// or redis+cluster:// URL, or one of these with rediss for TLS"+escapes)
		return v
	}
	if address := r.canonical(s, u, "master", "db"); impliedTLS(u) == "" || u.Query().Has("tls") {
		return address
	}
	r.problem(name, "says rediss and no TLS at once; without TLS write redis")
	return v
}

var redisSchemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// canonical returns an address in the form that packages db and jobs read. The result has only the
// parameters tls and tls-ca, and the parameters in keep. canonical warns about all other
// parameters, which are ignored, and about TLS without verification.
func (r *reader) canonical(s server, u *url.URL, keep ...string) string {
	if s.password != "" {
		u.User = url.UserPassword(u.User.Username(), s.password)
	}
	all, kept := u.Query(), url.Values{}
	for _, key := range keep {
		if all.Has(key) {
			kept.Set(key, all.Get(key))
			all.Del(key)
		}
	}
	mode, ca := r.takeTLS(s, all).resolve(s, impliedTLS(u))
	if mode != "" && !slices.Contains(s.modes, mode) {
		r.problem(s.setting, "has a parameter for TLS that stands for none of tls=%s", strings.Join(s.modes, ", "))
	}
	if mode != "" && mode != tlsmode.Off {
		kept.Set("tls", mode)
		if ca != "" {
			kept.Set("tls-ca", ca)
		}
	}
	if mode == tlsmode.SkipVerify || mode == tlsmode.Preferred {
		r.warn(warnUnverified, s.setting, "tls="+mode)
	}
	if len(all) > 0 {
		r.warn(warnIgnored, s.setting, parameterNames(all)...)
	}
	u.RawQuery = kept.Encode()
	return u.String()
}

func (r *reader) warn(text, setting string, parameters ...string) {
	r.warnings = append(r.warnings, Warning{Text: text, Setting: setting, Parameters: parameters})
}

var parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,40}$`)

// parameterNames returns the sorted names of parameters. A text that does not look like a name
// may be part of a password, so it is replaced by [redacted].
func parameterNames(all url.Values) (names []string) {
	for name := range all {
		if !parameterName.MatchString(name) {
			name = redacted
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
