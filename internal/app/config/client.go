package config

// Client has the settings of a command that is a client of a service.
type Client struct {
	URL   string // URL of the instance; it may contain a password: do not print it
	Token Secret // access token; zero: user and password are in the URL
}

// ClientFromEnv reads the settings of a client. The settings of a process may be missing.
func ClientFromEnv(getenv func(string) string) Client {
	r := newReader(getenv)
	return Client{URL: r.text("ALDS_URL"), Token: newSecret(r.text("ALDS_TOKEN"))}
}
