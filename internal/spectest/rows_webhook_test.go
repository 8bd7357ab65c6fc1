package spectest

// webhookRows are the rows of the interface about webhooks, as queryRows are those about
// queries.
var webhookRows = []rowGroup{}
