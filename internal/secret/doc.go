// Package secret encrypts what must be stored and read again, such as the
// authorization header of a webhook, and keeps the key file of standalone.
//
// A sealed text is "v1." and the unpadded base64url of a random nonce followed
// by AES-256-GCM's output, so that a later form can be distinguished.
package secret
