"use strict";
// What htmx does not do. Every page works without this file.
