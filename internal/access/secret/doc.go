// Package secret encrypts stored texts that must be read again, such as the authorization
// header of a webhook. It also keeps the key file of standalone.
//
// A sealed text is "v1." and the unpadded base64url of a random nonce and the output of
// AES-256-GCM. The prefix makes it possible to add other forms later.
package secret
