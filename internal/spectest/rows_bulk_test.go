package spectest

// bulkRows are the rows of the interface about writes, as queryRows are those about
// queries.
var bulkRows = []rowGroup{}
