package ui

import "time"

// Bounds are the limits of an access token. Spec: interface 5.10.
type Bounds struct {
	Writes    string   `json:"writes"`
	Deletes   bool     `json:"deletes"`
	Projects  []string `json:"projects,omitempty"`
	Types     []string `json:"types,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Changes   int      `json:"changes,omitempty"` // limit of the changes of one request; 0: none
	Hourly    int      `json:"hourly,omitempty"`  // limit of the changes within an hour; 0: none
}

// Token is an access token or session, as the interface lists it. Spec: interface 5.3.
type Token struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	Session          bool       `json:"session"`
	Created          time.Time  `json:"created"`
	Expires          *time.Time `json:"expires"`
	LastUsed         *time.Time `json:"lastUsed"`
	LastAddress      string     `json:"lastAddress"`
	EndsWithPassword bool       `json:"endsWithPassword"`
	Bounds           *Bounds    `json:"bounds"`
	Current          bool       `json:"current"`
	Token            string     `json:"token"` // only in the answer to the request that created the token
}
