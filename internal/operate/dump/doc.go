// Package dump exports a whole database as JSON lines. It restores an export into an empty database
// of the same or another dialect.
//
//	rows, err := dump.Write(ctx, d, w, release, progress)
//	rows, err := dump.Read(ctx, d, r, progress)
//
// The first line contains the version of the format, the release, and the version of the schema:
//
//	{"alds":"export","form":1,"release":"0.1.0","schema":125}
//
// The tables follow. Each table has a line with its name, and then a line for each row in the order
// of the primary key. A row contains its columns that are not NULL. Numbers are JSON numbers, bytes
// are Base64, and values of JSON columns are JSON with sorted keys:
//
//	{"table":"asset"}
//	{"id":20,"type":12,"state":64,"name":"Administrator","attrs":{"Username":"admin"}}
//
// The last line contains the number of rows, so that a truncated export is detected:
//
//	{"rows":2}
//
// The same data gives the same bytes on every database. An export omits the state of one
// installation: the applied migrations, the running processes, the last check, the counters
// of locks and writes, and the mark of an unfinished restore. It also omits the bytes of
// attachments that are stored outside the database (ALDS_BLOB_URL).
package dump
