// Package dump writes a whole database as JSON lines and reads them into an empty one,
// of the same or another kind.
//
//	n, err := dump.Write(ctx, d, w, progress)
//	n, err := dump.Read(ctx, d, r, progress)
//
// The first line names the form, the release and the schema:
//
//	{"alds":"export","form":1,"release":"0.1.0","schema":125}
//
// Then comes each table: a line with its name, and a line for each row, by primary key,
// that has the columns which are not NULL. Numbers are numbers, bytes are Base64, and
// the documents of JSON columns are JSON, with their keys sorted:
//
//	{"table":"asset"}
//	{"id":20,"type":12,"state":64,"name":"Administrator","attrs":{"Username":"admin"}}
//
// The last line counts the rows, so that a part is not taken for the whole:
//
//	{"rows":2}
//
// The same content gives the same bytes, whatever database holds it. What belongs to one
// installation and not to its data is left out: the migrations that were applied, the
// processes that run, the last check, how often rows were locked, and where a restore stands. Bytes of attachments
// that lie outside of the database (ALDS_BLOB_URL) are not in it.
package dump
