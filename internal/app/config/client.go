package config

// Client is what a command needs that speaks to a service as any client does.
type Client struct {
	URL   string // of the instance; it may have a password: never print it
	Token Secret // zero: the URL has user and password
}

// ClientFromEnv reads the settings of a client; those of a process are not needed.
func ClientFromEnv(getenv func(string) string) Client {
	r := newReader(getenv)
	return Client{URL: r.text("ALDS_URL"), Token: NewSecret(r.text("ALDS_TOKEN"))}
}
