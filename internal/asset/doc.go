// Package asset is the write engine: it carries out resolved commands (create,
// update, operate) with the rules of the model and leaves current rows,
// versions, links and an audit behind, all in one transaction per request.
//
// Words: a Session is the transaction of one request; a run is a stretch of
// its commands that needs no answer of the database between them; a Handle
// names an asset that a command of the same request makes.
//
//	err := engine.Write(ctx, actor, asset.Request{ID: id}, func(s *asset.Session) error {
//		outcomes, err := s.Run(ctx, commands)
//		...
//	})
//
// A run resolves all references at once, locks what it changes in id order,
// checks every command in memory, takes moments and numbers and writes
// multi-row. A failing command fails alone: what it did in memory is undone
// before the next one starts, so nothing of it reaches the database.
//
// It never reads for clients, never decides who may read, and knows neither
// the bulk language nor HTTP.
//
// Spec: interface 3, 4.3, 7.2.
package asset
