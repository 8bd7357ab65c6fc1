package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestAddresses checks the forms of addresses that platforms and add-ons set. In each case, want is
// the resulting address or "problem", and warning has the expected warnings.
func TestAddresses(t *testing.T) {
	ignored := func(names string) string { return "parameters of the address are ignored [" + names + "]" }
	unverified := func(mode string) string { return "the server's certificate is not verified [tls=" + mode + "]" }
	for _, c := range []struct {
		address, want, warning string
		settings               []string
	}{
		{"mysql://u:p@h/d", "mysql://u:p@h/d", "", nil},
		{"mysql2://u:p@h:1/d", "mysql://u:p@h:1/d", "", nil},
		{"mariadb://u:p@h/d", "mysql://u:p@h/d", "", nil},
		{"jdbc:mysql://h/d?user=u&password=p%2F1", "mysql://u:p%2F1@h/d", "", nil},
		{"jdbc:mariadb://u:p@h/d?user=x&password=y", "mysql://u:p@h/d", "", nil},
		{"mysql://h/d?user=u&password=hunter2", "mysql://h/d", ignored("password user"), nil},
		{"sqlite:/some/file?x=1", "sqlite:/some/file?x=1", "", nil},
		{"postgres://u:p@h/d", "problem", "", nil},
		{"jdbc:postgresql://h/d", "problem", "", nil},

		{"mysql://u:p@h/d?reconnect=true", "mysql://u:p@h/d", ignored("reconnect"), nil},
		{"mysql://u:p@h/d?connection_limit=5&pool=9&timeout=5000&charset=utf8mb4", "mysql://u:p@h/d", ignored("charset connection_limit pool timeout"), nil},
		{"mysql://u:p@h/d?sslcert=/c&sslkey=/k", "mysql://u:p@h/d", ignored("sslcert sslkey"), nil},
		{"mysql://u:p@h/d?%3Ahunter2=1", "mysql://u:p@h/d", ignored("[redacted]"), nil},

		{"mysql://u:p@h/d?tls=true", "mysql://u:p@h/d?tls=true", "", nil},
		{"mysql://u:p@h/d?tls=verify-ca&tls-ca=/ca.pem", "mysql://u:p@h/d?tls=verify-ca&tls-ca=%2Fca.pem", "", nil},
		{"mysql://u:p@h/d?tls-ca=/ca.pem", "mysql://u:p@h/d?tls=true&tls-ca=%2Fca.pem", "", nil},
		{"mysql://u:p@h/d?tls=skip-verify", "mysql://u:p@h/d?tls=skip-verify", unverified("skip-verify"), nil},
		{"mysql://u:p@h/d?tls=preferred", "mysql://u:p@h/d?tls=preferred", unverified("preferred"), nil},
		{"mysql://u:p@h/d?tls=false&sslmode=require", "mysql://u:p@h/d", "", nil},
		{"mysql://u:p@h/d?tls=hunter2", "problem", "", nil},

		{"mysql://u:p@h/d?ssl-mode=REQUIRED", "mysql://u:p@h/d?tls=skip-verify", unverified("skip-verify"), nil},
		{"mysql://u:p@h/d?ssl-mode=VERIFY_CA&ssl-ca=/ca", "mysql://u:p@h/d?tls=verify-ca&tls-ca=%2Fca", "", nil},
		{"mysql://u:p@h/d?sslMode=VERIFY_IDENTITY", "mysql://u:p@h/d?tls=true", "", nil},
		{"mysql://u:p@h/d?sslmode=require", "mysql://u:p@h/d?tls=skip-verify", unverified("skip-verify"), nil},
		{"mysql://u:p@h/d?sslmode=require&sslrootcert=/ca", "mysql://u:p@h/d?tls=verify-ca&tls-ca=%2Fca", "", nil},
		{"mysql://u:p@h/d?sslmode=verify-full", "mysql://u:p@h/d?tls=true", "", nil},
		{"mysql://u:p@h/d?ssl_mode=disabled", "mysql://u:p@h/d", "", nil},
		{"mysql://u:p@h/d?ssl-mode=hunter2", "problem", "", nil},
		{"mysql2://u:p@h/d?sslca=ca.pem&reconnect=true", "mysql://u:p@h/d?tls=verify-ca&tls-ca=ca.pem", ignored("reconnect"), nil},
		{"jdbc:mysql://h/d?user=u&password=p&useSSL=true&serverTimezone=UTC", "mysql://u:p@h/d?tls=skip-verify", unverified("skip-verify") + "; " + ignored("serverTimezone"), nil},
		{"jdbc:mysql://h/d?user=u&password=p&useSSL=true&requireSSL=true&verifyServerCertificate=true", "mysql://u:p@h/d?tls=verify-ca", "", nil},
		{"jdbc:mysql://h/d?user=u&password=p&useSSL=false", "mysql://u:p@h/d", "", nil},
		{`mysql://u:p@h/d?ssl={"rejectUnauthorized":true}`, "mysql://u:p@h/d?tls=true", "", nil},
		{`mysql://u:p@h/d?ssl={"ca":"hunter2"}`, "problem", "", nil},
		{"mysql://u:p@h/d?sslaccept=strict&connect_timeout=10", "mysql://u:p@h/d?tls=true", ignored("connect_timeout"), nil},

		{"mysql://u:p@h/d?tls=false", "mysql://u:p@h/d?tls=true", "", []string{"ALDS_DATABASE_TLS", "true"}},
		{"mysql://u:p@h/d?ssl-mode=REQUIRED", "mysql://u:p@h/d?tls=verify-ca&tls-ca=%2Fca", "", []string{"ALDS_TLS_CA", "/ca"}},
		{"mysql://u:p@h/d?sslca=/own&tls=true", "mysql://u:p@h/d?tls=true&tls-ca=%2Fown", "", []string{"ALDS_TLS_CA", "/ca"}},
		{"mysql://u:p@h/d", "mysql://u:p@h/d", "", []string{"ALDS_TLS_CA", "/ca"}},
		{"mysql://u@h/d", "mysql://u:p%40%3A%2F%23%25%20w@h/d", "", []string{"ALDS_DATABASE_PASSWORD", "p@:/#% w"}},
		{"mysql://u@h/d", "mysql://u:%20p%20@h/d", "", []string{"ALDS_DATABASE_PASSWORD", " p \n"}},
		{"mysql://u:old@h/d?tls=true", "mysql://u:new@h/d?tls=true", "", []string{"ALDS_DATABASE_PASSWORD", "new"}},

		{"redis://:p@h", "redis://:p@h", "", nil},
		{"redis://h:1/2?db=3&timeout=5", "redis://h:1/2?db=3", ignored("timeout"), nil},
		{"redis://h", "redis://:p%40%3A%2F%23@h", "", []string{"ALDS_REDIS_PASSWORD", "p@:/#"}},
		{"redis://h", "redis://:%20p%20@h", "", []string{"ALDS_REDIS_PASSWORD", " p "}},
		{"rediss://u:p@h", "rediss://u:p@h?tls=true", "", nil},
		{"rediss://h?tls=skip-verify", "rediss://h?tls=skip-verify", unverified("skip-verify"), nil},
		{"rediss://h", "rediss://h?tls=skip-verify", unverified("skip-verify"), []string{"ALDS_REDIS_TLS", "skip-verify"}},
		{"rediss://h", "rediss://h?tls=true&tls-ca=%2Fca", "", []string{"ALDS_TLS_CA", "/ca"}},
		{"rediss://h?ssl_cert_reqs=none", "rediss://h?tls=skip-verify", unverified("skip-verify"), nil},
		{"rediss://h?ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs=/ca", "rediss://h?tls=true&tls-ca=%2Fca", "", nil},
		{"redis://h?ssl=true", "redis://h?tls=true", "", nil},
		{"rediss://h?tls=false", "problem", "", nil},
		{"redis://h?tls=preferred", "problem", "", nil},
		{"rediss+sentinel://:p@a:1,b:2/main?db=3", "rediss+sentinel://:p@a:1,b:2/main?db=3&tls=true", "", nil},
		{"redis+sentinel://a?master=main", "redis+sentinel://a?master=main", "", nil},
		{"rediss+cluster://a:1,b:2", "rediss+cluster://a:1,b:2?tls=true", "", nil},
		{"memcached://h", "problem", "", nil},
	} {
		name := "DATABASE_URL"
		if strings.Contains(strings.SplitN(c.address, ":", 2)[0], "redis") || strings.HasPrefix(c.address, "memcached") {
			name = "REDIS_URL"
		}
		got, err := FromEnv(env(append([]string{name, c.address}, c.settings...)...), true)
		address := map[string]string{"DATABASE_URL": got.Database, "REDIS_URL": got.Redis}[name]
		if err != nil {
			address = "problem"
		}
		var warnings []string
		for _, w := range got.Warnings {
			warnings = append(warnings, fmt.Sprint(w.Text, " ", w.Parameters))
			if w.Setting != name {
				t.Errorf("%s: the warning is about %s", c.address, w.Setting)
			}
		}
		if warning := strings.Join(warnings, "; "); address != c.want || err == nil && warning != c.warning {
			t.Errorf("%s %v:\n %s, %s\nwant\n %s, %s", c.address, c.settings, address, warning, c.want, c.warning)
		}
		if text := fmt.Sprint(err, got.Warnings); strings.Contains(text, "hunter2") || err != nil && !strings.HasPrefix(err.Error(), name+" ") {
			t.Errorf("%s: %s", c.address, text)
		}
	}
}

// TestWhichTLSThereIs checks that an unknown TLS mode is a problem of its setting.
func TestWhichTLSThereIs(t *testing.T) {
	for _, c := range [][2]string{{"ALDS_DATABASE_TLS", "on"}, {"ALDS_REDIS_TLS", "preferred"}} {
		if _, err := FromEnv(env(c[0], c[1]), true); err == nil || !strings.HasPrefix(err.Error(), c[0]+" is ") {
			t.Errorf("%v: %v", c, err)
		}
	}
}
