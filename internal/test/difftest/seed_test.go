package difftest

import "flag"

var queriesFlag = flag.Int("difftest.queries", 0, "how many queries to ask; 0: 1000, and with -short as many of one world as fit into a few seconds")
